import { ERRORS } from '@tocsin/contracts/errors';
import type { ErrorCode } from '@tocsin/contracts/errors';
import { SIGN_IN_OPERATIONS } from '@tocsin/contracts/identity/routes';
import type { Operation, Operations } from '@tocsin/contracts/routes/route';
import { OPERATIONS } from '@tocsin/contracts/routes/routes';

/** What a route takes and answers, as the fuzzer asks and judges it. */
export interface Route extends Pick<
  Operation,
  'kind' | 'needs' | 'needsWriteIf' | 'body' | 'bodyBytes' | 'query' | 'ok' | 'showsSecret'
> {
  /** `any`: somebody else's, held to no schema of ours. */
  readonly answer: Operation['answer'] | 'any';
  /** Statuses that the state, or rules beyond the schemas, may call for. */
  readonly refusals?: readonly number[];
  /** How often it is asked, compared with others; 10 where unset. */
  readonly weight?: number;
}

/** What only the fuzzer asks of a route. */
export interface Trial {
  /** How often it is asked, compared with others; 10 where unset. */
  readonly weight?: number;
  /** Refusals that an operation does not name for itself: rules that its schemas do not say, limits of a user. */
  readonly refusals?: readonly number[];
  /** Its examples look like secrets. */
  readonly showsSecret?: true;
}

const D = '/api/dashboard';
const important: Trial = { weight: 30, refusals: [400] };

/** By route; those that are not here are like any other. */
export const TRIALS: Readonly<Record<string, Trial>> = {
  'POST /api/cli/monitors': important,
  'PUT /api/cli/monitors': { weight: 20, refusals: [400] },
  'PUT /api/cli/monitors/:id': important,
  'POST /api/cli/monitors/:id/trigger': { weight: 4 },
  [`POST ${D}/monitors`]: important,
  [`PUT ${D}/monitors/:id`]: important,
  [`POST ${D}/monitors/:id/trigger`]: { weight: 4 },
  [`GET ${D}/monitors/:id/stats`]: { weight: 5 },
  [`GET ${D}/regions`]: { weight: 5 },
  [`GET ${D}/stream`]: { weight: 2, refusals: [400, 429] },
  [`POST ${D}/channels`]: { weight: 20, refusals: [400] },
  [`PATCH ${D}/channels/:id`]: { weight: 20, refusals: [400] },
  [`POST ${D}/channels/:id/test`]: { weight: 3 },
  [`GET ${D}/channels/:id/deliveries`]: { refusals: [400] },
  [`GET ${D}/incidents`]: { refusals: [400] },
  [`GET ${D}/maintenance-windows`]: { refusals: [400] },
  [`POST ${D}/maintenance-windows`]: { weight: 20, refusals: [400] },
  [`PATCH ${D}/maintenance-windows/:id`]: { weight: 20, refusals: [400] },
  [`POST ${D}/invitations/accept`]: { refusals: [400] },
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
 * What nothing here can bring about: no monitor is of another type, somebody always answers, and no request has an `If-Match` or an
 * `Idempotency-Key`. Scopes are judged apart.
 */
const OUT_OF_REACH: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'not_triggerable',
  'check_not_answered',
  'request_in_flight',
  'precondition_failed',
  'idempotency_key_reused',
  'delivery_not_attempted',
]);

/** Every route of ours; `fuzz.test.ts` holds that none of the api's is missing. */
export const ROUTES: Readonly<Record<string, Route>> = toRoutes(OPERATIONS, ({ answer }) => answer);

/** Routes whose answers and errors are better-auth's: they are held to no schema of ours, and to no 5xx. */
export const AUTH_ROUTES: Readonly<Record<string, Route>> = toRoutes(SIGN_IN_OPERATIONS, () => 'any');

function toRoutes(
  operations: Operations,
  answerOf: (operation: Operation) => Route['answer'],
): Record<string, Route> {
  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => {
      const { refusals: further = [], ...trial } = TRIALS[name] ?? {};
      const own = (operation.refusals ?? []).filter((code) => !OUT_OF_REACH.has(code));
      const refusals = [...own.map((code) => ERRORS[code].status), ...further];
      return [name, { ...operation, ...trial, refusals, answer: answerOf(operation) }];
    }),
  );
}
