import { ERRORS, type ErrorCode } from '@tocsin/contracts/errors';
import { signInRoutes } from '@tocsin/contracts/identity/routes';
import { statusOf, type Route as DeclaredRoute, type Routes } from '@tocsin/contracts/routes/route';
import { API_ROUTES } from '@tocsin/contracts/routes/routes';
import { serviceRoutes } from '@tocsin/contracts/service/routes';

/** Facts that the route table does not state. */
interface Tuning {
  /** Relative frequency of requests. Defaults to 10. */
  readonly weight?: number;
  /** Statuses of errors that depend on the state, or on rules that the schemas do not state. */
  readonly errorStatuses?: readonly number[];
  readonly showsSecret?: true;
}

export interface Route extends Omit<DeclaredRoute, 'status' | 'response'>, Tuning {
  readonly status: number;
  /** Null without a body. `any` for the routes of better-auth, whose responses have no complete schema. */
  readonly response: NonNullable<DeclaredRoute['response']> | null | 'any';
}

const D = '/api/dashboard';
const important: Tuning = { weight: 30, errorStatuses: [400] };
const frequent: Tuning = { weight: 20, errorStatuses: [400] };
const mayFail: Tuning = { errorStatuses: [400] };
const rare: Tuning = { weight: 3 };

/** Routes with another weight than their table, or with errors that the table does not declare. */
export const TUNING: Readonly<Record<string, Tuning>> = {
  'POST /api/cli/monitors': important,
  'PUT /api/cli/monitors': frequent,
  'PUT /api/cli/monitors/:id': important,
  'POST /api/cli/monitors/:id/trigger': rare,
  'GET /api/cli/events': mayFail,
  'GET /api/cli/metrics': mayFail,
  [`POST ${D}/monitors`]: important,
  [`PUT ${D}/monitors/:id`]: important,
  [`POST ${D}/monitors/:id/trigger`]: rare,
  [`POST ${D}/monitors/test`]: { ...rare, errorStatuses: [400] },
  [`PATCH ${D}/monitors/:id/channels`]: mayFail,
  [`GET ${D}/monitors/:id/stats`]: { ...rare, errorStatuses: [400] },
  [`GET ${D}/monitors/:id/states`]: { ...rare, errorStatuses: [400] },
  'GET /api/cli/regions': rare,
  [`GET ${D}/regions`]: rare,
  [`PUT ${D}/regions/:code`]: mayFail,
  [`GET ${D}/stream`]: { weight: 2, errorStatuses: [400, 429] },
  'POST /api/cli/channels': mayFail,
  'PATCH /api/cli/channels/:id': mayFail,
  [`POST ${D}/channels`]: frequent,
  [`PATCH ${D}/channels/:id`]: frequent,
  [`POST ${D}/channels/:id/test`]: rare,
  [`GET ${D}/channels/:id/deliveries`]: mayFail,
  [`GET ${D}/incidents`]: mayFail,
  [`GET ${D}/reports/availability`]: mayFail,
  'GET /api/cli/maintenance-windows': mayFail,
  'POST /api/cli/maintenance-windows': frequent,
  [`GET ${D}/audit-log`]: mayFail,
  [`GET ${D}/maintenance-windows`]: mayFail,
  [`POST ${D}/maintenance-windows`]: frequent,
  [`PATCH ${D}/maintenance-windows/:id`]: frequent,
  [`POST ${D}/maintenance-windows/preview`]: mayFail,
  [`POST ${D}/invitations/accept`]: mayFail,
  [`POST ${D}/invitations/check`]: mayFail,
  // Their examples and patterns look like secrets.
  'GET /api/cli/openapi.json': { weight: 1, showsSecret: true },
  'GET /schemas/tocsin.json': { ...rare, showsSecret: true },
};

/** Errors that only a twist can cause. Scopes are compared separately. */
const UNREACHABLE: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'not_triggerable',
  'check_not_answered',
  'request_in_flight',
  'precondition_failed',
  'idempotency_key_reused',
  'delivery_not_attempted',
]);

export const ROUTES: Readonly<Record<string, Route>> = {
  ...toRoutes(API_ROUTES),
  ...toRoutes(serviceRoutes, rare),
  ...toRoutes(signInRoutes, { ...rare, response: 'any' }),
};

function toRoutes(
  table: Routes,
  defaults: Tuning & { readonly response?: 'any' } = {},
): Record<string, Route> {
  const routes = Object.values(table).map((route): [string, Route] => {
    const { errorStatuses = [], ...tuning } = TUNING[route.endpoint] ?? {};
    const codes = (route.errors ?? []).filter((code) => !UNREACHABLE.has(code));
    const statuses = [...codes.map((code) => ERRORS[code].status), ...errorStatuses];
    const { response = null } = route;
    return [
      route.endpoint,
      { ...route, response, ...defaults, ...tuning, status: statusOf(route), errorStatuses: statuses },
    ];
  });
  return Object.fromEntries(routes);
}
