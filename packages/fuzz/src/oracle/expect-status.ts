import { parse } from 'node:querystring';
import { LIMITS } from '@tocsin/contracts/limits';
import { z } from 'zod';
import type { Caller } from '../requests/plan.ts';
import type { Route } from '../routes/route.ts';

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
  if (route.needs !== 'anyone' && caller !== 'full' && caller !== 'lesser') return [401];
  const reads = route.body !== undefined;
  if (reads && body !== null && Buffer.byteLength(body) > (route.bodyBytes ?? LIMITS.apiBodyBytes))
    return [413];
  if (reads && asked.hasRefusedKey) return [400];
  const fields: unknown = reads && body !== null ? JSON.parse(body) : {};
  if (lacksScope(asked, fields)) return [403];
  if (asked.idExists === false) return [404];
  const isRefused = (reads && !route.body.safeParse(fields).success) || refusesQuery(asked);
  if (isRefused) return asked.idExists === null && route.kind !== undefined ? [400, 404] : [400];
  const missing = asked.idExists === null && route.kind !== undefined ? [404] : [];
  return [route.ok, ...(route.refusals ?? []), ...missing];
}

function lacksScope({ route, caller }: Asked, fields: unknown): boolean {
  if (caller !== 'lesser') return false;
  if (route.needs === 'write key' || route.needs === 'owner') return true;
  return route.needsWriteIf?.(fields as Readonly<Record<string, unknown>>) ?? false;
}

function refusesQuery({ route, query }: Asked): boolean {
  return route.query instanceof z.ZodType && !route.query.safeParse(parse(query)).success;
}
