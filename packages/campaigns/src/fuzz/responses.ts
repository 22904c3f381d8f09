import { parse as parseQuery } from 'node:querystring';
import { ERRORS, problemSchema } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import { hasRefusedKey, type ResolvedPlan } from './plan.ts';
import type { Route } from './routes.ts';
import type { WireResponse } from './send.ts';

/** A defect of the api. */
export class Finding extends Error {
  override readonly name = 'Finding';
}

export function assert(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Finding(otherwise);
}

/** Status codes with which Node.js rejects a request before it reaches a handler. */
const PROTOCOL_STATUSES = new Set([400, 408, 431]);
const STATUS_BY_TYPE = new Map(
  Object.entries(ERRORS).map(([code, { status }]) => [
    `urn:tocsin:problem:${code.replaceAll('_', '-')}`,
    status,
  ]),
);

/**
 * Checks that a response has no 5xx status, a request id, a documented status, and a body that matches its schema.
 * @param route null if another route may have responded
 * @returns the parsed body, or undefined if it is not JSON
 * @throws Finding
 */
export function checkResponse(
  route: Pick<Route, 'status' | 'response'> | null,
  { status, headers, text }: WireResponse,
  isHead: boolean,
): unknown {
  assert(status < 500, `status ${status}: ${text.slice(0, 500)}`);
  assert(headers['x-request-id'] !== undefined, `${status} without X-Request-Id`);
  if (isHead) {
    assert(text === '', 'a response to HEAD with a body');
    return undefined;
  }
  // 304: `If-None-Match: *`.
  if (route?.response === 'any' || (status === 304 && text === '')) return undefined;
  if (status >= 400) return checkProblem(status, headers, text);
  assert(route === null || status === route.status, `status ${status}, not ${route?.status}`);
  if (route === null || typeof route.response === 'string') return undefined;
  if (route.response === null) {
    assert(text === '', `a ${status} with a body`);
    return undefined;
  }
  const type = headers['content-type'];
  assert(type === 'application/json; charset=utf-8', `success of type ${type}`);
  const body = parseJson(text);
  const { success, error } = route.response.safeParse(body);
  assert(success, `a success that does not match its schema: ${error?.message}\n${text.slice(0, 1_000)}`);
  return body;
}

function checkProblem(status: number, headers: WireResponse['headers'], text: string): unknown {
  const excerpt = text.slice(0, 500);
  const contentType = headers['content-type'];
  assert(
    contentType === 'application/problem+json; charset=utf-8',
    `an error of type ${contentType}: ${excerpt}`,
  );
  const body = parseJson(text);
  const { data, error } = problemSchema.safeParse(body);
  assert(data !== undefined, `an error that does not match its schema: ${error?.message}\n${excerpt}`);
  const { type, instance } = data;
  assert(data.status === status, `a problem of status ${data.status} in a ${status}`);
  assert(instance === headers['x-request-id'], 'a problem that names another request');
  const isProtocolError = type === 'about:blank' && PROTOCOL_STATUSES.has(status);
  assert(
    STATUS_BY_TYPE.get(type) === status || isProtocolError,
    `a problem of an unknown type: ${type} ${status}`,
  );
  const isUnauthorized = status === 401 && text.includes('unauthorized');
  assert(!isUnauthorized || headers['www-authenticate'] !== undefined, 'a 401 without WWW-Authenticate');
  assert(status !== 405 || headers.allow !== undefined, 'a 405 without Allow');
  return body;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Finding(`not JSON: ${text.slice(0, 200)}`);
  }
}

/**
 * @param sent the request, which an error message may repeat
 * @param own secrets of the account that sent the request
 * @param otherMarker a text in the fields of every resource in the other account
 * @throws Finding
 */
export function checkSecrets(
  { showsSecret }: Pick<Route, 'showsSecret'>,
  text: string,
  sent: string,
  own: Iterable<string>,
  otherMarker: string,
): void {
  const leaks = (secret: string): boolean => text.includes(secret) && !sent.includes(secret);
  assert(!leaks(otherMarker), `something of another account: ${text.slice(0, 500)}`);
  if (showsSecret) return;
  for (const secret of own)
    assert(!leaks(secret), `a secret (${secret.slice(0, 12)}…): ${text.slice(0, 300)}`);
  assert(
    !/tocsin_live_[0-9a-f]{48}|whsec_/.test(text) || /tocsin_live_|whsec_/.test(sent),
    `a key or secret: ${text.slice(0, 300)}`,
  );
}

/**
 * Returns the status codes that a request without a twist can get, according to the order of errors.
 * @param idExists whether the account has the resource. Null if unknown, or if the path has no `:id`
 */
export function possibleStatuses(
  { plan, route, body, query }: Pick<ResolvedPlan, 'plan' | 'route' | 'body' | 'query'>,
  idExists: boolean | null,
): readonly number[] {
  const { caller } = plan;
  if (route.access !== 'anyone' && caller !== 'full' && caller !== 'lesser') return [401];
  const isRead = route.body !== undefined && body !== null;
  if (isRead && Buffer.byteLength(body) > (route.maxBodyBytes ?? LIMITS.apiBodyBytes)) return [413];
  if (isRead && hasRefusedKey(plan.body ?? [])) return [400];
  const fields = (isRead ? JSON.parse(body) : {}) as Readonly<Record<string, unknown>>;
  const needsMore =
    route.access === 'write key' || route.access === 'owner' || route.requiresWriteScope?.(fields);
  if (caller === 'lesser' && needsMore) return [403];
  if (idExists === false) return [404];
  const mayBeMissing = route.path !== undefined || (idExists === null && route.resource !== undefined);
  const notFound = mayBeMissing ? [404] : [];
  const isValid =
    (route.body?.safeParse(fields).success ?? true) &&
    (route.query?.safeParse(parseQuery(query)).success ?? true);
  return isValid ? [route.status, ...route.errorStatuses, ...notFound] : [400, ...notFound];
}
