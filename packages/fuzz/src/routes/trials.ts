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
