import { randomBytes, randomInt } from 'node:crypto';
import { follow, Pools } from '../oracle/model.ts';
import { demand, expectStatus, Finding, judgeAnswer, judgeSecrets } from '../oracle/responses.ts';
import { changedTables, type Digest, digestOf, emptyAccount, listBroken } from '../oracle/tables.ts';
import type { Caller, Plan } from '../requests/plan.ts';
import { AUTH_ROUTES, ROUTES } from '../requests/routes.ts';
import type { Route } from '../requests/routes.ts';
import { twistRequest } from '../requests/twist.ts';
import { resolveReferences, TWICE } from '../requests/values.ts';
import { furnish, openAccount } from '../system/account.ts';
import type { Account } from '../system/account.ts';
import { PUBLIC_URL } from '../system/system.ts';
import type { FuzzSystem } from '../system/system.ts';
import { type Answer, WireClient, type WireRequest } from '../wire/send.ts';
import type { Tally } from './run.ts';

/** What a caller sends with a request to a path. */
function callerHeaders(
  account: Account,
  caller: Caller,
  path: string,
  method: string,
): Record<string, string> {
  const isCli = path.startsWith('/api/cli');
  const mayEndSession = path.startsWith('/api/auth') && method !== 'GET';
  const headers: Record<string, string> = {
    // Tries at signing in are counted by address.
    'X-Forwarded-For': `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`,
    ...(isCli ? byKey(account, caller) : byCookie(account, mayEndSession ? 'stale' : caller)),
  };
  if (!isCli && method !== 'GET') headers['Origin'] = PUBLIC_URL;
  return headers;
}

function byKey(account: Account, caller: Caller): Record<string, string> {
  switch (caller) {
    case 'full':
      return bearer(account.key);
    case 'lesser':
      return bearer(account.readKey);
    case 'stale':
      return bearer(account.deletedKey);
    case 'garbage':
      return bearer('tocsin_live_nonsense');
    case 'other kind':
      return { Cookie: account.owner.cookie };
    case 'nobody':
      return {};
  }
}

function bearer(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}` };
}

function byCookie(account: Account, caller: Caller): Record<string, string> {
  switch (caller) {
    case 'full':
      return { Cookie: account.owner.cookie };
    case 'lesser':
      return { Cookie: account.member.cookie };
    case 'stale':
      return { Cookie: account.staleCookie };
    case 'garbage':
      return { Cookie: account.owner.cookie.replace(/\.[^.]*$/, '.bm9uc2Vuc2U%3D') };
    case 'other kind':
      return { Authorization: `Bearer ${account.key}` };
    case 'nobody':
      return {};
  }
}

/** Of refused requests, one in so many is followed by a look at the tables; the last of a run always is. */
const LOOK_EVERY = 3;

/** A plan with ids in place of references. */
interface Resolved {
  readonly plan: Plan;
  readonly route: Route;
  readonly method: string;
  readonly id: string;
  readonly query: string;
  readonly body: string | null;
  readonly wire: WireRequest;
}

/** One account that is asked for, one request after the other, beside another one that nothing may touch. */
export class Lane {
  readonly #system: FuzzSystem;
  readonly #client: WireClient;
  readonly #account: Account;
  readonly #foreign: Account;
  readonly #pools = new Pools();
  readonly #foreignPools = new Pools();
  readonly #foreignMarker = `foreign-${randomBytes(8).toString('hex')}`;
  readonly #tally: Tally;
  /** Of the tables, after the last request that was to change them; null: not looked since. */
  #digest: Digest | null = null;
  #refusals = 0;
  /** Whether something was changed that the model does not know of: for the rest of the run, it is asked no more. */
  #isLost = false;

  private constructor(
    system: FuzzSystem,
    client: WireClient,
    accounts: readonly [Account, Account],
    tally: Tally,
  ) {
    this.#system = system;
    this.#client = client;
    [this.#account, this.#foreign] = accounts;
    this.#tally = tally;
  }

  static async open(system: FuzzSystem, tally: Tally): Promise<Lane> {
    const client = new WireClient(system.api.port);
    const accounts = [await openAccount(system, client), await openAccount(system, client)] as const;
    const lane = new Lane(system, client, accounts, tally);
    await furnish(system, lane.#foreign, lane.#foreignPools, lane.#foreignMarker);
    return lane;
  }

  close(): void {
    this.#client.close();
  }

  /** Starts from a furnished account. @throws Finding */
  async run(plans: readonly Plan[]): Promise<void> {
    await emptyAccount(this.#system.database, this.#account.id, this.#account.actors);
    this.#pools.clear();
    await furnish(this.#system, this.#account, this.#pools, `mine-${randomBytes(4).toString('hex')}`);
    this.#digest = null;
    this.#isLost = false;
    for (const [index, plan] of plans.entries()) {
      const resolved = this.#resolve(plan);
      try {
        await this.#ask(resolved, index === plans.length - 1);
      } catch (error) {
        if (!(error instanceof Finding)) throw error;
        throw new Finding(`${plan.route}: ${error.message}\n  in ${JSON.stringify(shown(resolved))}`);
      }
    }
    this.#digest ??= await this.#look();
  }

  async #ask(resolved: Resolved, isLast: boolean): Promise<void> {
    const { plan, route, wire } = resolved;
    this.#digest ??= await this.#look();
    const answer = await this.#client.send(wire).catch((error: unknown) => {
      throw new Finding(`no answer: ${String(error)}`);
    });
    this.#tally.note(plan.route, answer.status, answer.durationMs);
    const isOurs = !Object.hasOwn(AUTH_ROUTES, plan.route);
    const judged = isOurs ? this.#routeOf(resolved) : { ...route, response: 'any' as const };
    const received = judgeAnswer(judged, answer, wire.method === 'HEAD');
    judgeSecrets(route, answer.text, JSON.stringify(wire.headers) + wire.path + String(wire.body), {
      own: [...this.#account.secrets, ...this.#pools.secrets],
      foreignMarker: this.#foreignMarker,
    });
    if (isOurs && plan.twist === null && !this.#isLost) {
      const expected = this.#demandStatus(resolved, answer);
      // Nothing that can be told from here forbids it.
      if (expected[0] === route.status) this.#tally.hope(plan.route, answer.status === route.status);
    }
    const changes = answer.status < 400 && wire.method !== 'GET' && wire.method !== 'HEAD';
    if (changes) this.#noteChange(judged);
    else await this.#demandNothingWritten(answer, isLast);
    if (
      isOurs &&
      answer.status < 300 &&
      judged !== null &&
      !this.#isLost &&
      wire.method === resolved.method
    ) {
      await this.#follow(resolved, received);
    }
  }

  /** @param judged null: what answered, and so what changed, is not known */
  #noteChange(judged: Route | null): void {
    this.#digest = null;
    if (judged === null) this.#isLost = true;
  }

  /** The route that answers; null where the request was twisted to another. */
  #routeOf({ plan, route }: Resolved): Route | null {
    const { twist } = plan;
    return twist?.kind === 'path' || (twist?.kind === 'method' && twist.method !== 'HEAD') ? null : route;
  }

  /** @returns what it could be answered with */
  #demandStatus({ plan, route, body, id, query }: Resolved, answer: Answer): readonly number[] {
    const { resource: kind } = route;
    const isCertain = kind !== undefined && !['delivery', 'incident', 'invitation'].includes(kind);
    const exists = kind !== undefined && this.#pools.has(kind, id.toLowerCase());
    const expected = expectStatus({
      route,
      caller: plan.caller,
      idExists: kind === undefined ? null : exists && !isCertain ? null : exists,
      body,
      hasRefusedKey: plan.body !== null && hasRefusedKey(plan.body),
      query,
    });
    demand(
      expected.includes(answer.status),
      `answered ${answer.status}, not ${expected.join(' or ')}: ${answer.text.slice(0, 500)}`,
    );
    return expected;
  }

  async #demandNothingWritten({ status }: Answer, isLast: boolean): Promise<void> {
    this.#refusals += 1;
    if (!isLast && this.#refusals % LOOK_EVERY !== 0) return;
    const changed = changedTables(this.#digest ?? {}, await this.#look());
    demand(
      changed.length === 0,
      `a ${status}, or one shortly before, left something in ${changed.join(', ')}`,
    );
  }

  /** @throws Finding where what was written is not whole */
  async #look(): Promise<Digest> {
    const accountIds = [this.#account.id, this.#foreign.id];
    const broken = await listBroken(this.#system.database, accountIds);
    demand(
      broken.length === 0,
      `written by half, by this request or one shortly before: ${broken.join('; ')}`,
    );
    return digestOf(this.#system.database, accountIds);
  }

  async #follow(
    { plan, route, method, id, body, wire: { body: wireBody } }: Resolved,
    received: unknown,
  ): Promise<void> {
    const [, path = ''] = plan.route.split(' ');
    const [, root = '', pattern = ''] = /^(\/api\/(?:cli|dashboard))(\/.*)$/.exec(path) ?? [];
    if (root === '') return;
    const bytes = plan.twist?.kind === 'bytes' ? wireBody : Buffer.from(body ?? '');
    // As it was read, a byte order mark left out.
    const sent: unknown =
      route.body === undefined ? {} : JSON.parse(new TextDecoder().decode(bytes ?? undefined) || '{}');
    const readBack = follow(this.#pools, { method, pattern, id: id.toLowerCase(), sent, received });
    if (readBack === null) return;
    const wire = {
      method: 'GET',
      path: root + readBack,
      headers: this.#headers('full', root, 'GET'),
      body: null,
      isChunked: false,
    };
    const answer = await this.#client.send(wire);
    demand(
      answer.status === 200,
      `what was written reads back as ${answer.status}: ${answer.text.slice(0, 200)}`,
    );
    const idBack = readBack.split('/').at(-1) ?? '';
    follow(this.#pools, {
      method: 'GET',
      pattern: pattern.replace(/^(\/[^/]+).*/, '$1/:id'),
      id: idBack,
      sent: {},
      received: JSON.parse(answer.text),
    });
  }

  #headers(caller: Plan['caller'], path: string, method: string): Record<string, string> {
    return callerHeaders(this.#account, caller, path, method);
  }

  #resolve(plan: Plan): Resolved {
    const route = ROUTES[plan.route] ?? AUTH_ROUTES[plan.route];
    if (route === undefined) throw new Error(`no such route: ${plan.route}`);
    const [method = '', pattern = ''] = plan.route.split(' ');
    const find: Parameters<typeof resolveReferences>[1] = (source, kind, index) => {
      if (source === 'foreign') return this.#foreignPools.pick(kind, index);
      return source === 'own' ? this.#pools.pick(kind, index) : this.#pools.pickGone(kind, index);
    };
    const id = resolveReferences(plan.id, find);
    const query = new URLSearchParams(
      plan.query.map(([name, value]): [string, string] => [name, resolveReferences(value, find)]),
    ).toString();
    const body = plan.body === null ? null : resolveReferences(textOf(plan.body), find);
    const path = pattern.replace(':id', () => id) + (query === '' ? '' : `?${query}`);
    const headers = {
      ...this.#headers(plan.caller, pattern, method),
      ...(body !== null && { 'Content-Type': 'application/json' }),
    };
    const wire = twistRequest(
      { method, path, headers, body: body === null ? null : Buffer.from(body), isChunked: false },
      plan.twist,
    );
    return { plan, route, method, id, query, body, wire };
  }
}

function textOf(body: NonNullable<Plan['body']>): string {
  return `{${body.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`;
}

/** Whether some object in it has a key twice, or `__proto__`; of what is generated only `TWICE` has one twice inside. */
function hasRefusedKey(body: NonNullable<Plan['body']>): boolean {
  const keys = new Set(body.map(([key]) => key));
  if (keys.size < body.length || keys.has('__proto__')) return true;
  return body.some(([, json]) => json === TWICE || json.includes('"__proto__":'));
}

function shown({ plan, wire }: Resolved): object {
  const body = wire.body?.toString('latin1') ?? null;
  return {
    plan: plan.twist === null ? undefined : plan.twist.kind,
    method: wire.method,
    path: wire.path.slice(0, 300),
    headers: wire.headers,
    body: body === null || body.length <= 1_000 ? body : `${body.slice(0, 1_000)}… (${body.length})`,
  };
}
