import { ERRORS, type ErrorCode } from '@tocsin/contracts/errors';
import { signInRoutes } from '@tocsin/contracts/identity/routes';
import { statusOf, type Route as DeclaredRoute, type Routes } from '@tocsin/contracts/routes/route';
import { API_ROUTES } from '@tocsin/contracts/routes/routes';

/** A route of the api, with what only the fuzzer knows of it. */
export interface Route extends Pick<
  DeclaredRoute,
  'access' | 'requiresWriteScope' | 'resource' | 'body' | 'maxBodyBytes' | 'query' | 'showsSecret'
> {
  /** Status code of a success. */
  readonly status: number;
  /** Null: no body. `any`: a route of better-auth, whose responses have no schema here. */
  readonly response: NonNullable<DeclaredRoute['response']> | null | 'any';
  /** Status codes of errors that depend on the state, or on rules beyond the schemas. */
  readonly errorStatuses?: readonly number[];
  /** How often the route is requested, compared with others; 10 if unset. */
  readonly weight?: number;
}

/** What the route table does not state. */
type Tuning = Pick<Route, 'weight' | 'errorStatuses' | 'showsSecret'>;

const D = '/api/dashboard';
const important: Tuning = { weight: 30, errorStatuses: [400] };
const frequent: Tuning = { weight: 20, errorStatuses: [400] };
const mayFail: Tuning = { errorStatuses: [400] };

/** Routes with another weight than 10, or with errors that the route table does not declare. */
export const TUNING: Readonly<Record<string, Tuning>> = {
  'POST /api/cli/monitors': important,
  'PUT /api/cli/monitors': frequent,
  'PUT /api/cli/monitors/:id': important,
  'POST /api/cli/monitors/:id/trigger': { weight: 4 },
  [`POST ${D}/monitors`]: important,
  [`PUT ${D}/monitors/:id`]: important,
  [`POST ${D}/monitors/:id/trigger`]: { weight: 4 },
  [`GET ${D}/monitors/:id/stats`]: { weight: 5 },
  [`GET ${D}/regions`]: { weight: 5 },
  [`GET ${D}/stream`]: { weight: 2, errorStatuses: [400, 429] },
  [`POST ${D}/channels`]: frequent,
  [`PATCH ${D}/channels/:id`]: frequent,
  [`POST ${D}/channels/:id/test`]: { weight: 3 },
  [`GET ${D}/channels/:id/deliveries`]: mayFail,
  [`GET ${D}/incidents`]: mayFail,
  [`GET ${D}/maintenance-windows`]: mayFail,
  [`POST ${D}/maintenance-windows`]: frequent,
  [`PATCH ${D}/maintenance-windows/:id`]: frequent,
  [`POST ${D}/maintenance-windows/preview`]: mayFail,
  [`POST ${D}/invitations/accept`]: mayFail,
  [`GET ${D}/sign-in-methods`]: { weight: 3 },
  // Its examples look like secrets.
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

/** Errors that no plan without a twist can cause. Scopes are compared on their own. */
const UNREACHABLE: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'not_triggerable',
  'check_not_answered',
  'request_in_flight',
  'precondition_failed',
  'idempotency_key_reused',
  'delivery_not_attempted',
]);

/** Every route of the api, by endpoint. */
export const ROUTES: Readonly<Record<string, Route>> = {
  ...toRoutes(API_ROUTES),
  ...toRoutes(signInRoutes, 'any'),
};

function toRoutes(table: Routes, response?: 'any'): Record<string, Route> {
  return Object.fromEntries(
    Object.values(table).map((route) => {
      const { errorStatuses = [], ...tuning } = TUNING[route.endpoint] ?? {};
      const codes = (route.errors ?? []).filter((code) => !UNREACHABLE.has(code));
      return [
        route.endpoint,
        {
          ...route,
          ...tuning,
          status: statusOf(route),
          errorStatuses: [...codes.map((code) => ERRORS[code].status), ...errorStatuses],
          response: response ?? route.response ?? null,
        },
      ];
    }),
  );
}
