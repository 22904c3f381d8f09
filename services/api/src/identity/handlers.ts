import type { signInRoutes, singleSignOnRoutes } from '@tocsin/contracts/identity/routes';
import { pathOf, type Route, type Routes } from '@tocsin/contracts/routes/route';
import { type ApiRequest, type Handlers, SENT } from '../http/implement.ts';
import { type AuthRequest, forwardResponse } from './auth-request.ts';

type Forward = (request: AuthRequest) => Promise<globalThis.Response>;

/** Only declared routes of better-auth are reachable: not sign-up or account linking. */
export function authHandlers<Table extends typeof signInRoutes | typeof singleSignOnRoutes>(
  table: Table,
  forward: Forward,
): Handlers<Table> {
  const entries = Object.entries(table as Routes).map(([id, route]) => [id, forwardTo(route, forward)]);
  return Object.fromEntries(entries) as Handlers<Table>;
}

function forwardTo(route: Route, forward: Forward): (request: ApiRequest<Route>) => Promise<typeof SENT> {
  return async ({ req, res, query, body }) => {
    const fields: unknown = route.body === undefined ? query : body;
    await forwardResponse(
      res,
      await forward({ req, path: pathOf(route), fields: fields as AuthRequest['fields'] }),
    );
    return SENT;
  };
}
