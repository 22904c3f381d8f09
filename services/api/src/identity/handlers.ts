import { signInRoutes, singleSignOnRoutes } from '@tocsin/contracts/identity/routes';
import { pathOf, type Route, type Routes } from '@tocsin/contracts/routes/route';
import type { ApiContext } from '../context.ts';
import { type ApiRequest, type Handlers, implement, SENT } from '../http/implement.ts';
import { type AuthRequest, forwardResponse } from './auth-request.ts';

export const signInApi = implement(signInRoutes, (context) => forwardAll(signInRoutes, context));
export const singleSignOnApi = implement(singleSignOnRoutes, (context) =>
  forwardAll(singleSignOnRoutes, context),
);

/** Makes only declared routes of better-auth reachable, not sign-up or account linking. */
function forwardAll<Table extends Routes>(table: Table, { identity }: ApiContext): Handlers<Table> {
  const entries = Object.entries<Route>(table).map(([id, route]) => [
    id,
    async ({ req, res, query, body }: ApiRequest<Route>): Promise<typeof SENT> => {
      const fields: unknown = route.body === undefined ? query : body;
      const request = { req, path: pathOf(route), fields: fields as AuthRequest['fields'] };
      await forwardResponse(res, await identity.handle(request));
      return SENT;
    },
  ]);
  return Object.fromEntries(entries) as Handlers<Table>;
}
