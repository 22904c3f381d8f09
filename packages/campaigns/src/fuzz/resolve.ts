import { headersOf, type Account } from './account.ts';
import type { WireRequest } from './send.ts';
import { textOf, type Plan, type ResolvedPlan } from './plan.ts';
import { ROUTES } from './routes.ts';
import { twistRequest } from './twist.ts';
import { resolveReferences } from './values.ts';

/** @param account the sender. Its request may name resources of the other account */
export function resolvePlan(plan: Plan, account: Account, other: Account): ResolvedPlan {
  const route = ROUTES[plan.route];
  if (route === undefined) throw new Error(`no such route: ${plan.route}`);
  const [method = '', pattern = ''] = plan.route.split(' ');
  const resolve = (text: string): string =>
    resolveReferences(text, (source, kind, index) =>
      (source === 'other' ? other : account).model.pick(kind, index, source === 'deleted'),
    );
  const id = resolve(plan.id);
  const parameters = [id, resolve(plan.parameter)];
  const query = new URLSearchParams(
    plan.query.map(([name, value]): [string, string] => [name, resolve(value)]),
  ).toString();
  const body = plan.body === null ? null : resolve(textOf(plan.body));
  const plain: WireRequest = {
    method,
    path: pattern.replace(/:\w+/g, () => parameters.shift() ?? '') + (query === '' ? '' : `?${query}`),
    headers: headersOf(account, plan.caller, method, pattern, body !== null),
    body: body === null ? null : Buffer.from(body),
  };
  return { plan, route, method, id, query, body, wire: twistRequest(plain, plan.twist) };
}

/** Returns whether a route other than the planned one may respond. */
export function isRerouted({ twist }: Plan): boolean {
  return twist?.kind === 'path' || (twist?.kind === 'method' && twist.value !== 'HEAD');
}

/** Formats a request for the report of a failure. */
export function printable({ plan, wire }: ResolvedPlan): object {
  const body = wire.body?.toString('latin1') ?? null;
  return {
    twist: plan.twist?.kind,
    method: wire.method,
    path: wire.path.slice(0, 300),
    headers: wire.headers,
    body: body === null || body.length <= 1_000 ? body : `${body.slice(0, 1_000)}… (${body.length})`,
  };
}
