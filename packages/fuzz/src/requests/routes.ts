import { OPERATIONS } from '@tocsin/contracts/routes/routes';
import type { Operation, Operations } from '@tocsin/contracts/routes/route';
import { SIGN_IN_OPERATIONS } from '@tocsin/contracts/identity/routes';
import { ERRORS, type ErrorCode } from '@tocsin/contracts/errors';

/** A route of the api, with what only the fuzzer knows of it. */
export interface Route extends Pick<
  Operation,
  'kind' | 'needs' | 'needsWriteIf' | 'body' | 'bodyBytes' | 'query' | 'ok' | 'showsSecret'
> {
  /** `any`: a route of better-auth, whose responses have no schema here. */
  readonly response: Operation['answer'] | 'any';
  /** Statuses that depend on the state, or on rules beyond the schemas. */
  readonly refusals?: readonly number[];
  /** How often the route is requested; 10 if unset. */
  readonly weight?: number;
}

/** What the operations do not state. */
type Tuning = Pick<Route, 'weight' | 'refusals' | 'showsSecret'>;

const D = '/api/dashboard';
const important: Tuning = { weight: 30, refusals: [400] };
const frequent: Tuning = { weight: 20, refusals: [400] };
const mayRefuse: Tuning = { refusals: [400] };

/** Routes with another weight than 10, or with refusals that no schema states. */
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
  [`GET ${D}/stream`]: { weight: 2, refusals: [400, 429] },
  [`POST ${D}/channels`]: frequent,
  [`PATCH ${D}/channels/:id`]: frequent,
  [`POST ${D}/channels/:id/test`]: { weight: 3 },
  [`GET ${D}/channels/:id/deliveries`]: mayRefuse,
  [`GET ${D}/incidents`]: mayRefuse,
  [`GET ${D}/maintenance-windows`]: mayRefuse,
  [`POST ${D}/maintenance-windows`]: frequent,
  [`PATCH ${D}/maintenance-windows/:id`]: frequent,
  [`POST ${D}/invitations/accept`]: mayRefuse,
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
const IMPOSSIBLE: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'not_triggerable',
  'check_not_answered',
  'request_in_flight',
  'precondition_failed',
  'idempotency_key_reused',
  'delivery_not_attempted',
]);

/** Every route of the api, by method and path. */
export const ROUTES: Readonly<Record<string, Route>> = {
  ...toRoutes(OPERATIONS, ({ answer }) => answer),
  ...toRoutes(SIGN_IN_OPERATIONS, () => 'any'),
};

function toRoutes(
  operations: Operations,
  responseOf: (operation: Operation) => Route['response'],
): Record<string, Route> {
  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => {
      const { refusals = [], ...tuning } = TUNING[name] ?? {};
      const codes = (operation.refusals ?? []).filter((code) => !IMPOSSIBLE.has(code));
      const statuses = [...codes.map((code) => ERRORS[code].status), ...refusals];
      return [name, { ...operation, ...tuning, refusals: statuses, response: responseOf(operation) }];
    }),
  );
}
