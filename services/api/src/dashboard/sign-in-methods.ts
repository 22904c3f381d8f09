import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';

/** What the sign-in page has to offer; `oidc`: `POST /api/auth/sign-in/social` with this provider. */
export function signInMethodsHandler({ identity }: ApiContext): RequestHandler {
  return function answerMethods(_req, res) {
    res.json({ methods: ['password', ...(identity.hasSingleSignOn ? ['oidc'] : [])] });
  };
}
