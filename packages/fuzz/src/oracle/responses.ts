import { parse } from 'node:querystring';
import { isDeepStrictEqual } from 'node:util';
import { ERRORS, problemSchema } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import { z } from 'zod';
import type { Caller } from '../requests/plan.ts';
import type { Route } from '../requests/routes.ts';
import type { Answer } from '../wire/send.ts';

/** Something that must not be. */
export class Finding extends Error {
  override readonly name = 'Finding';
}

/** @throws Finding */
export function demand(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Finding(what);
}

/** Statuses of what Node refuses before it is a request of ours. */
const PROTOCOL_STATUSES = new Set([400, 408, 431]);

const TYPES = new Map(
  Object.entries(ERRORS).map(([code, { status }]) => [
    `urn:tocsin:problem:${code.replaceAll('_', '-')}`,
    status,
  ]),
);

/**
 * What every answer must be, whatever was asked: no 5xx, and of its schema.
 * @param route null: of no route of ours that is known
 * @returns the body, where it is JSON
 * @throws Finding
 */
export function judgeAnswer(
  route: Route | null,
  { status, headers, text }: Answer,
  isHead: boolean,
): unknown {
  demand(status < 500, `answered ${status}: ${text.slice(0, 500)}`);
  demand(headers['x-request-id'] !== undefined, `${status} without X-Request-Id`);
  if (isHead) {
    demand(text === '', 'an answer to HEAD with a body');
    return undefined;
  }
  if (route?.response === 'any') return undefined;
  // `If-None-Match: *`.
  if (status === 304 && text === '') return undefined;
  if (status >= 400) return judgeProblem({ status, headers, text });
  demand(route === null || status === route.status, `answered ${status}, not ${route?.status}`);
  if (route === null || typeof route.response === 'string') return undefined;
  if (route.response === null) {
    demand(text === '', `a ${status} with a body`);
    return undefined;
  }
  demand(
    headers['content-type'] === 'application/json; charset=utf-8',
    `success of type ${headers['content-type']}`,
  );
  const body = parseJson(text);
  const judged = route.response.safeParse(body);
  demand(judged.success, `a success against its schema: ${judged.error?.message}\n${text.slice(0, 1_000)}`);
  return body;
}

function judgeProblem({ status, headers, text }: Pick<Answer, 'status' | 'headers' | 'text'>): unknown {
  const type = headers['content-type'];
  demand(
    type === 'application/problem+json; charset=utf-8',
    `an error of type ${type}: ${text.slice(0, 200)}`,
  );
  const body = parseJson(text);
  const problem = problemSchema.safeParse(body);
  demand(problem.success, `an error against its schema: ${problem.error?.message}\n${text.slice(0, 500)}`);
  const { data } = problem;
  demand(data.status === status, `a problem of status ${data.status} in a ${status}`);
  demand(data.instance === headers['x-request-id'], 'a problem that names another request');
  const isDocumented =
    TYPES.get(data.type) === status || (data.type === 'about:blank' && PROTOCOL_STATUSES.has(status));
  demand(isDocumented, `a problem of an unknown type: ${data.type} ${status}`);
  demand(
    status !== 401 || headers['www-authenticate'] !== undefined || !text.includes('unauthorized'),
    'a 401 without WWW-Authenticate',
  );
  demand(status !== 405 || headers.allow !== undefined, 'a 405 without Allow');
  return body;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Finding(`no JSON: ${text.slice(0, 200)}`);
  }
}

/** @throws Finding where a field is not as expected; other fields are not looked at */
export function demandFields(what: string, actual: object, expected: object): void {
  for (const [name, value] of Object.entries(expected)) {
    const given = (actual as Record<string, unknown>)[name];
    demand(
      isDeepStrictEqual(given, value),
      `${what}: ${name} is ${JSON.stringify(given)}, not ${JSON.stringify(value)}`,
    );
  }
}

export interface SecretsToKeep {
  /** Of the account that asks. */
  readonly own: Iterable<string>;
  /** Stands in everything another account has. */
  readonly foreignMarker: string;
}

/** @param sent the request, since what was sent may come back in the message of a fault. @throws Finding */
export function judgeSecrets(route: Route | null, text: string, sent: string, keep: SecretsToKeep): void {
  demand(
    !text.includes(keep.foreignMarker) || sent.includes(keep.foreignMarker),
    `something of another account: ${text.slice(0, 500)}`,
  );
  if (route?.showsSecret === true) return;
  for (const secret of keep.own) {
    demand(
      !text.includes(secret) || sent.includes(secret),
      `a secret (${secret.slice(0, 12)}…) in an answer: ${text.slice(0, 300)}`,
    );
  }
  demand(
    !/tocsin_live_[0-9a-f]{48}|whsec_/.test(text) || /tocsin_live_|whsec_/.test(sent),
    `a key or secret in an answer: ${text.slice(0, 300)}`,
  );
}

/** What of a request decides how it is answered. */
export interface Asked {
  readonly route: Route;
  readonly caller: Caller;
  /** Whether `:id` names something that the account has; null: it cannot be told from here. */
  readonly idExists: boolean | null;
  /** The text of the body; null: none. */
  readonly body: string | null;
  /** Whether it has a key twice, or `__proto__`. */
  readonly hasRefusedKey: boolean;
  readonly query: string;
}

/** The statuses that a request made in the usual way may be answered with, by the order of errors of design §3. */
export function expectStatus(asked: Asked): readonly number[] {
  const { route, caller, body } = asked;
  if (route.access !== 'anyone' && caller !== 'full' && caller !== 'lesser') return [401];
  const reads = route.body !== undefined;
  if (reads && body !== null && Buffer.byteLength(body) > (route.maxBodyBytes ?? LIMITS.apiBodyBytes))
    return [413];
  if (reads && asked.hasRefusedKey) return [400];
  const fields: unknown = reads && body !== null ? JSON.parse(body) : {};
  if (lacksScope(asked, fields)) return [403];
  if (asked.idExists === false) return [404];
  const isRefused = (reads && !route.body.safeParse(fields).success) || refusesQuery(asked);
  if (isRefused) return asked.idExists === null && route.resource !== undefined ? [400, 404] : [400];
  const missing = asked.idExists === null && route.resource !== undefined ? [404] : [];
  return [route.status, ...(route.errorStatuses ?? []), ...missing];
}

function lacksScope({ route, caller }: Asked, fields: unknown): boolean {
  if (caller !== 'lesser') return false;
  if (route.access === 'write key' || route.access === 'owner') return true;
  return route.requiresWriteScope?.(fields as Readonly<Record<string, unknown>>) ?? false;
}

function refusesQuery({ route, query }: Asked): boolean {
  return route.query instanceof z.ZodType && !route.query.safeParse(parse(query)).success;
}
