import { ERRORS, type ErrorCode } from '@tocsin/contracts/errors';
import { signInRoutes } from '@tocsin/contracts/identity/routes';
import { statusOf, type Route as DeclaredRoute, type Routes } from '@tocsin/contracts/routes/route';
import { API_ROUTES } from '@tocsin/contracts/routes/routes';
import { serviceRoutes } from '@tocsin/contracts/service/routes';

export interface Route extends Omit<DeclaredRoute, 'status' | 'response'> {
  readonly status: number;
  /** Null without a body. `any` for better-auth routes, whose responses have no complete schema. */
  readonly response: NonNullable<DeclaredRoute['response']> | null | 'any';
  /** Relative frequency of requests. */
  readonly weight: number;
  readonly errorStatuses: readonly number[];
}

/** These routes may reject requests that their schemas allow, because of the state or of rules that relate fields. */
export const MAY_REFUSE: ReadonlySet<string> = new Set(
  `POST /api/cli/monitors
  PUT /api/cli/monitors
  PUT /api/cli/monitors/:id
  GET /api/cli/events
  GET /api/cli/metrics
  POST /api/cli/channels
  PUT /api/cli/channels/:id
  GET /api/cli/maintenance-windows
  POST /api/cli/maintenance-windows
  POST /api/dashboard/monitors
  PUT /api/dashboard/monitors/:id
  POST /api/dashboard/monitors/test
  PATCH /api/dashboard/monitors/:id/channels
  GET /api/dashboard/monitors/:id/stats
  GET /api/dashboard/monitors/:id/states
  PUT /api/dashboard/regions/:code
  GET /api/dashboard/stream
  POST /api/dashboard/channels
  PUT /api/dashboard/channels/:id
  GET /api/dashboard/channels/:id/deliveries
  GET /api/cli/channels/:id/deliveries
  GET /api/dashboard/incidents
  GET /api/dashboard/reports/availability
  GET /api/dashboard/audit-log
  GET /api/dashboard/maintenance-windows
  POST /api/dashboard/maintenance-windows
  PUT /api/dashboard/maintenance-windows/:id
  PUT /api/cli/maintenance-windows/:id
  POST /api/dashboard/maintenance-windows/preview
  POST /api/dashboard/invitations/accept
  POST /api/dashboard/invitations/check`.split(/\n\s+/),
);

/** Routes that wait, or whose responses hardly depend on the request. */
const RARE = /\/(trigger|test|stream|regions|stats|states)$|\.json$/;
/** Their examples and patterns look like secrets. */
const DOCUMENTS = /\.json$/;

/** Errors that only a twist can cause. Errors about scopes are compared separately. */
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
  ...toRoutes(serviceRoutes, { weight: 3 }),
  ...toRoutes(signInRoutes, { weight: 3, response: 'any' }),
};

function toRoutes(table: Routes, settings: Partial<Route> = {}): Record<string, Route> {
  const routes = Object.values(table).map((route): [string, Route] => {
    const { endpoint, errors = [], response = null } = route;
    const codes = errors.filter((code) => !UNREACHABLE.has(code));
    const statuses: number[] = codes.map((code) => ERRORS[code].status);
    if (MAY_REFUSE.has(endpoint)) statuses.push(400);
    // An account may have too many streams.
    if (endpoint.endsWith('/stream')) statuses.push(429);
    const weight = RARE.test(endpoint) ? 2 : /^(GET|DELETE) /.test(endpoint) ? 10 : 20;
    const derived = { status: statusOf(route), errorStatuses: statuses, weight };
    const shown = DOCUMENTS.test(endpoint) && { showsSecret: true as const };
    return [endpoint, { ...route, response, ...derived, ...shown, ...settings }];
  });
  return Object.fromEntries(routes);
}
