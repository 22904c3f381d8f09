import { AppError } from '@tocsin/contracts/errors';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { stateOf } from '../http/request-state.ts';

/**
 * Finds out whom a request acts for by its session cookie (design §3 "Dashboard API"). Postgres is asked each time: a session
 * that ended, a user who was removed or whose role changed counts with the next request.
 */
export function authenticateSession({ identity }: Pick<ApiContext, 'identity'>): RequestHandler {
  return async function authenticateUser(req, res, next) {
    const signedIn = req.headers.cookie === undefined ? null : await identity.find(req);
    if (signedIn === null)
      throw new AppError('not_signed_in', 'Sign in: there is no session, or it has ended.');
    const { accountId, userId, role, sessionId, cookies } = signedIn;
    for (const cookie of cookies) res.append('Set-Cookie', cookie);
    stateOf(res).caller = { accountId, apiKeyId: null, canWrite: true, userId, role, sessionId };
    next();
  };
}
