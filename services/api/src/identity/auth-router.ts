import { Router } from 'express';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { keepPrivate } from '../http/keep-private.ts';
import { notFound, resource } from '../http/resource.ts';
import { readAuthBody } from './read-body.ts';

/**
 * What people may ask of better-auth, whose answers and errors these are. The rest of it (sign-up, linking, tokens of providers)
 * is not reachable.
 */
const PATHS = {
  '/sign-in/email': 'post',
  '/sign-out': 'post',
  '/get-session': 'get',
  '/change-password': 'post',
  '/list-sessions': 'get',
  '/revoke-session': 'post',
  '/revoke-other-sessions': 'post',
} as const;

const SINGLE_SIGN_ON_PATHS = {
  '/sign-in/social': 'post',
  '/callback/:provider': 'get',
} as const;

/** `/api/auth`: signing in and out. */
export function authRouter({ identity }: Pick<ApiContext, 'identity'>): Router {
  const router = Router({ caseSensitive: true });
  router.use(keepPrivate);
  const handle: RequestHandler = (req, res) => identity.handle(req, res);
  for (const [path, method] of Object.entries(PATHS))
    resource(router, path, { [method]: [...readAuthBody, handle] });
  if (identity.hasSingleSignOn) {
    const handleSingleSignOn: RequestHandler = (req, res) => identity.handleSingleSignOn(req, res);
    for (const [path, method] of Object.entries(SINGLE_SIGN_ON_PATHS)) {
      resource(router, path, { [method]: [...readAuthBody, handleSingleSignOn] });
    }
  }
  router.use(notFound);
  return router;
}
