import { ERRORS } from '@tocsin/contracts/errors';
import type { ErrorCode } from '@tocsin/contracts/errors';
import { signInRoutes } from '@tocsin/contracts/identity/routes';
import { statusOf } from '@tocsin/contracts/routes/route';
import type { Route as DeclaredRoute, Routes } from '@tocsin/contracts/routes/route';
import { API_ROUTES } from '@tocsin/contracts/routes/routes';

/** A route as the fuzzer calls it and evaluates its responses. */
export interface Route extends Pick<
  DeclaredRoute,
  'access' | 'requiresWriteScope' | 'resource' | 'body' | 'maxBodyBytes' | 'query' | 'showsSecret'
> {
  /** Status code of a success. */
  readonly status: number;
  /** Null: no body. `any`: from better-auth, without a schema of ours. */
  readonly response: NonNullable<DeclaredRoute['response']> | null | 'any';
  /** Status codes of errors that depend on stored state or on rules beyond the schemas. */
  readonly errorStatuses?: readonly number[];
  /** How often it is called, relative to others. Default 10. */
  readonly weight?: number;
}

/** What only the fuzzer needs to know of a route. */
export interface Trial {
  /** How often it is called, relative to others. Default 10. */
  readonly weight?: number;
  /** Errors that the route does not declare: rules beyond its schemas, limits of a user. */
  readonly errorStatuses?: readonly number[];
  /** Its examples look like secrets. */
  readonly showsSecret?: true;
}

const D = '/api/dashboard';
const important: Trial = { weight: 30, errorStatuses: [400] };

/** By endpoint; the others have the defaults. */
export const TRIALS: Readonly<Record<string, Trial>> = {
  'POST /api/cli/monitors': important,
  'PUT /api/cli/monitors': { weight: 20, errorStatuses: [400] },
  'PUT /api/cli/monitors/:id': important,
  'POST /api/cli/monitors/:id/trigger': { weight: 4 },
  [`POST ${D}/monitors`]: important,
  [`PUT ${D}/monitors/:id`]: important,
  [`POST ${D}/monitors/:id/trigger`]: { weight: 4 },
  [`GET ${D}/monitors/:id/stats`]: { weight: 5 },
  [`GET ${D}/regions`]: { weight: 5 },
  [`GET ${D}/stream`]: { weight: 2, errorStatuses: [400, 429] },
  [`POST ${D}/channels`]: { weight: 20, errorStatuses: [400] },
  [`PATCH ${D}/channels/:id`]: { weight: 20, errorStatuses: [400] },
  [`POST ${D}/channels/:id/test`]: { weight: 3 },
  [`GET ${D}/channels/:id/deliveries`]: { errorStatuses: [400] },
  [`GET ${D}/incidents`]: { errorStatuses: [400] },
  [`GET ${D}/maintenance-windows`]: { errorStatuses: [400] },
  [`POST ${D}/maintenance-windows`]: { weight: 20, errorStatuses: [400] },
  [`PATCH ${D}/maintenance-windows/:id`]: { weight: 20, errorStatuses: [400] },
  [`POST ${D}/invitations/accept`]: { errorStatuses: [400] },
  [`GET ${D}/sign-in-methods`]: { weight: 3 },
  'GET /api/cli/openapi.json': { weight: 1, showsSecret: true },
  'GET /schemas/tocsin.json': { weight: 1 },
  'GET /healthz': { weight: 1 },
  'GET /readyz': { weight: 1 },
  'GET /metrics': { weight: 1 },
  'POST /api/auth/sign-in/email': { weight: 5 },
  'POST /api/auth/sign-out': { weight: 3 },
  'GET /api/auth/get-session': { weight: 3 },
  'POST /api/auth/change-password': { weight: 5 },
  'GET /api/auth/list-sessions': { weight: 2 },
  'POST /api/auth/revoke-session': { weight: 3 },
  'POST /api/auth/revoke-other-sessions': { weight: 2 },
};

/**
 * Errors that the fuzzer cannot cause: every monitor is of the type HTTP, a checker and a notifier always respond, and no request has an
 * `If-Match` or an `Idempotency-Key`. Scopes are evaluated separately.
 */
const UNREACHABLE: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'not_triggerable',
  'check_not_answered',
  'request_in_flight',
  'precondition_failed',
  'idempotency_key_reused',
  'delivery_not_attempted',
]);

/** Every route of ours by endpoint; `fuzz.test.ts` checks that none is missing. */
export const ROUTES: Readonly<Record<string, Route>> = toRoutes(API_ROUTES);

/** Routes of better-auth: their responses are held to no schema, but must not be a 5xx. */
export const AUTH_ROUTES: Readonly<Record<string, Route>> = toRoutes(signInRoutes, 'any');

function toRoutes(table: Routes, response?: 'any'): Record<string, Route> {
  return Object.fromEntries(
    Object.values(table).map((route) => {
      const { errorStatuses: others = [], ...trial } = TRIALS[route.endpoint] ?? {};
      const own = (route.errors ?? []).filter((code) => !UNREACHABLE.has(code));
      const errorStatuses = [...own.map((code) => ERRORS[code].status), ...others];
      const status = statusOf(route);
      return [
        route.endpoint,
        { ...route, ...trial, status, errorStatuses, response: response ?? route.response ?? null },
      ];
    }),
  );
}
