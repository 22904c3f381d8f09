import { AppError } from '@tocsin/contracts/errors';
import type { ApiKeyScope } from '@tocsin/contracts/vocabulary';
import { hashApiKey, isApiKey } from '@tocsin/core/secrets/tokens';
import { findApiKey } from '@tocsin/db/api-keys/api-keys';
import type { Request, RequestHandler } from 'express';
import { rateLimit } from 'express-rate-limit';
import type { ApiContext } from '../context.ts';
import { callerOf, stateOf } from '../http/request-state.ts';
import type { Caller } from '../http/request-state.ts';

const BEARER = /^bearer +(\S+) *$/i;

/**
 * Finds out whom a request acts for by its Bearer API key (specification "Authentication"). Postgres is asked each time, so
 * a deleted key stops working at once; what does not even look like a key of ours costs no query.
 */
export function authenticate({ db, lastUsed }: Pick<ApiContext, 'db' | 'lastUsed'>): RequestHandler {
  return async function authenticateRequest(req, res, next) {
    const token = BEARER.exec(req.get('authorization') ?? '')?.[1];
    if (token === undefined)
      throw unauthorized('Send an API key: Authorization: Bearer <API key>.', 'Bearer');
    const identity = isApiKey(token) ? await findApiKey(db, hashApiKey(token)) : null;
    if (identity === null) {
      throw unauthorized('This API key is not known or has expired.', 'Bearer error="invalid_token"');
    }
    lastUsed.note(identity.id);
    stateOf(res).caller = {
      accountId: identity.accountId,
      apiKeyId: identity.id,
      canWrite: hasScope(identity.scopes, 'write'),
      userId: null,
      role: null,
      sessionId: null,
    };
    next();
  };
}

/** @param scopes the comma-separated string, as `read,write` */
function hasScope(scopes: string, scope: ApiKeyScope): boolean {
  return scopes.split(',').some((name) => name.trim() === scope);
}

function unauthorized(detail: string, challenge: string): AppError {
  return new AppError('unauthorized', detail, { headers: { 'WWW-Authenticate': challenge } });
}

/** Lets only keys with the scope `write` pass (specification "Authentication" 6). */
export const requireWrite: RequestHandler = requireWriteIf(() => true);

/** The same, for the requests that `needed` picks. */
export function requireWriteIf(needed: (req: Request) => boolean): RequestHandler {
  return function checkWriteScope(req, res, next) {
    if (needed(req) && !callerOf(res).canWrite) {
      throw new AppError('forbidden', 'This needs an API key with the scope write.');
    }
    next();
  };
}

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

/** Lets only owners of the account pass: users, invitations, secrets. An API key is no owner. */
export const requireOwner: RequestHandler = (_req, res, next) => {
  if (callerOf(res).role !== 'owner') {
    throw new AppError('owner_required', 'Ask an owner of the account.');
  }
  next();
};

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses what another site could make a browser send with our cookie: a request with one that changes something needs an `Origin` of ours,
 * or the browser's word (`Sec-Fetch-Site`) that the page is ours. `SameSite` of the cookie is the second wall.
 */
export function requireTrustedOrigin(trustedOrigins: readonly string[]): RequestHandler {
  const trusted = new Set(trustedOrigins);
  return function checkOrigin(req, _res, next) {
    const origin = req.get('origin');
    const isOurs = origin === undefined ? req.get('sec-fetch-site') === 'same-origin' : trusted.has(origin);
    const matters = !SAFE_METHODS.has(req.method) && req.headers.cookie !== undefined;
    if (matters && !isOurs) {
      throw new AppError(
        'untrusted_origin',
        'A request that changes something must come from the dashboard: send its Origin (see PUBLIC_URL).',
      );
    }
    next();
  };
}

/**
 * Requests a minute for each API key or session, counted in this process (design §2 `API_RATE_LIMIT_PER_MINUTE`). Stands behind
 * the authentication: nobody can use up another's share. A limiter that fails lets requests pass.
 */
export function limitRate(perMinute: number): RequestHandler {
  return rateLimit({
    windowMs: 60_000,
    limit: perMinute,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    passOnStoreError: true,
    keyGenerator: (_req, res) => keyOf(callerOf(res)),
    handler: (_req, res, next) => {
      const retryAfter = String(res.getHeader('Retry-After') ?? 60);
      const who = callerOf(res).apiKeyId === null ? 'session' : 'API key';
      const detail = `This ${who} may send ${perMinute} requests a minute. Try again in ${retryAfter} s.`;
      next(new AppError('rate_limited', detail));
    },
  });
}

function keyOf(caller: Caller): string {
  return caller.apiKeyId ?? caller.sessionId;
}
