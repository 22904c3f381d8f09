import { AppError } from '@tocsin/contracts/errors';
import { ACCOUNT_HEADER, USER_HEADER } from '@tocsin/contracts/identity/user-header';
import { API_KEY_PATTERN } from '@tocsin/contracts/limits';
import { type Access, isForWriters, isRefusedToViewers, type Route } from '@tocsin/contracts/routes/route';
import { hashToken } from '@tocsin/core/secrets/tokens';
import { findOwnAccount } from '@tocsin/db/accounts/memberships';
import { isOperator } from '@tocsin/db/accounts/operators';
import { OPERATORS_ACCOUNT } from '@tocsin/db/audit-log/record-audit';
import { findApiKey } from '@tocsin/db/api-keys/api-keys';
import type { Request, RequestHandler, Response } from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import type { ApiContext } from '../context.ts';
import { bodyOf } from '../http/json-body.ts';
import { type RequestState, type SessionCaller, stateOf } from '../http/request-state.ts';
import type { Identity } from '../identity/create-identity.ts';
import { keepPrivate } from '../http/headers.ts';
import { isTrustedOrigin, trustedOrigins, untrustedOrigin } from './origins.ts';

const BEARER = /^bearer +(\S+) *$/i;
/** Names the account where a browser cannot set headers. */
export const ACCOUNT_PARAMETER = 'account';
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Stages that authenticate the caller of a path, before its method is checked. */
export type Guards = (path: string, access: Access) => readonly RequestHandler[];

export function createGuards(context: ApiContext): Guards {
  const { rateLimitPerMinute, publicUrl } = context.settings;
  const limit = rateLimitPerMinute > 0 ? [limitRate(rateLimitPerMinute)] : [];
  const forKeys = [authenticateKey(context), keepPrivate, ...limit];
  const forBrowsers = [keepPrivate, requireTrustedOrigin(publicUrl)];
  const forAnyone = [...forBrowsers, ...limit];
  const forMembers = [...forBrowsers, authenticateMember(context), ...limit];
  const forUsers = [...forBrowsers, authenticateUser(context), ...limit];
  const forOperators = [keepPrivate, authenticateOperator(context), ...limit];
  const forAuth = [...forBrowsers, checkNamedUser(context)];
  return (path, access) => {
    if (access.endsWith('key')) return forKeys;
    if (access === 'member' || access === 'owner') return forMembers;
    if (access === 'user') return forUsers;
    if (access === 'operator') return forOperators;
    if (/^\/api\/dashboard(?:\/|$)/.test(path)) return forAnyone;
    return /^\/api\/auth(?:\/|$)/.test(path) ? forAuth : [];
  };
}

/** Looks up the API key for each request, so that a deleted key stops working at once. */
function authenticateKey({ db, lastUsed }: Pick<ApiContext, 'db' | 'lastUsed'>): RequestHandler {
  return async function authenticateRequest(req, res, next) {
    const token = BEARER.exec(req.get('authorization') ?? '')?.[1];
    if (token === undefined)
      throw unauthorized('Send an API key: Authorization: Bearer <API key>.', 'Bearer');
    const found = API_KEY_PATTERN.test(token) ? await findApiKey(db, hashToken(token)) : null;
    if (found === null)
      throw unauthorized('This API key is unknown or has expired.', 'Bearer error="invalid_token"');
    lastUsed.note(found.id);
    const { id, accountId, name, sources, isOwner, canWrite, role } = found;
    const actor = {
      accountId,
      type: 'apiKey',
      id,
      name,
      requestId: stateOf(res).requestId,
      sources,
      isOwner,
    } as const;
    stateOf(res).caller = { ...actor, canWrite, apiKeyId: id, userId: null, role, sessionId: null };
    next();
  };
}

function unauthorized(detail: string, challenge: string): AppError {
  return new AppError('unauthorized', detail, { headers: { 'WWW-Authenticate': challenge } });
}

/** For requests without an account. */
function authenticateUser({ identity }: Pick<ApiContext, 'identity'>): RequestHandler {
  return async function authenticateRequest(req, res, next) {
    stateOf(res).caller = await findSession(identity, req, res);
    next();
  };
}

/** Looks up the session and the role for each request, so that changes take effect at once. */
function authenticateMember({ identity, db }: Pick<ApiContext, 'identity' | 'db'>): RequestHandler {
  return async function authenticateRequest(req, res, next) {
    const caller = await findSession(identity, req, res);
    const parameter = req.query[ACCOUNT_PARAMETER] ?? null;
    // A parameter that is given twice is an array, and an empty slug names no account.
    const slug =
      req.get(ACCOUNT_HEADER) ?? (parameter === null || typeof parameter === 'string' ? parameter : '');
    const { id: accountId, role } = await findOwnAccount(db, caller.userId, slug);
    const rights = { isOwner: role === 'owner', canWrite: role !== 'viewer' };
    stateOf(res).caller = { ...caller, accountId, role, ...rights };
    next();
  };
}

/** @throws AppError not_signed_in */
async function findSession(identity: Identity, req: Request, res: Response): Promise<SessionCaller> {
  const signedIn = req.headers.cookie === undefined ? null : await identity.find(req);
  if (signedIn === null)
    throw new AppError('not_signed_in', 'There is no session, or it has ended. Sign in.');
  const { userId, name, sessionId, cookies } = signedIn;
  for (const cookie of cookies) res.append('Set-Cookie', cookie);
  requireNamedUser(req, userId);
  return {
    type: 'user',
    id: userId,
    name,
    requestId: stateOf(res).requestId,
    sources: null,
    isOwner: false,
    canWrite: false,
    apiKeyId: null,
    userId,
    sessionId,
  };
}

/** Accepts the key of the settings, or the session of an operator. */
function authenticateOperator({ identity, db, settings }: ApiContext): RequestHandler {
  const { operatorKeyHash, publicUrl } = settings;
  const checkOrigin = requireTrustedOrigin(publicUrl);
  const asOperator = {
    accountId: OPERATORS_ACCOUNT,
    isOperator: true,
    isOwner: true,
    canWrite: true,
  } as const;
  return async function authenticateRequest(req, res, next) {
    const token = BEARER.exec(req.get('authorization') ?? '')?.[1];
    if (token !== undefined) {
      // Comparing hashes does not leak the key through timing.
      if (operatorKeyHash === null || hashToken(token) !== operatorKeyHash)
        throw unauthorized('This is not the key in OPERATOR_API_KEY.', 'Bearer error="invalid_token"');
      const { requestId } = stateOf(res);
      const key = {
        type: 'operatorKey',
        id: null,
        name: 'OPERATOR_API_KEY',
        requestId,
        sources: null,
      } as const;
      stateOf(res).caller = { ...key, ...asOperator, apiKeyId: null, userId: null, sessionId: null };
      next();
      return;
    }
    const caller = await findSession(identity, req, res).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'not_signed_in')
        throw unauthorized(error.message, 'Bearer');
      throw error;
    });
    if (!(await isOperator(db, caller.userId)))
      throw new AppError('operator_required', 'Only operators of this installation may do this.');
    stateOf(res).caller = { ...caller, ...asOperator };
    checkOrigin(req, res, next);
  };
}

function checkNamedUser({ identity }: Pick<ApiContext, 'identity'>): RequestHandler {
  return async function checkUser(req, res, next) {
    const signedIn = req.get(USER_HEADER) === undefined ? null : await identity.find(req);
    if (signedIn !== null) {
      for (const cookie of signedIn.cookies) res.append('Set-Cookie', cookie);
      requireNamedUser(req, signedIn.userId);
    }
    next();
  };
}

/** All tabs of a browser share one session, and another user may sign in while a page is open. @throws AppError not_signed_in */
function requireNamedUser(req: Request, userId: string): void {
  const named = req.get(USER_HEADER);
  if (named === undefined || named === userId) return;
  throw new AppError(
    'not_signed_in',
    `The session does not belong to the user in ${USER_HEADER}. Sign in as that user.`,
  );
}

/**
 * Refuses a changing request from another `Origin`, and one with a cookie but without proof that our page sent it. The cookie's `SameSite`
 * is the second line of defense.
 */
function requireTrustedOrigin(publicUrl: string): RequestHandler {
  const trusted = trustedOrigins(publicUrl);
  return function checkOrigin(req, _res, next) {
    const origin = req.get('origin');
    const isOurs =
      origin === undefined
        ? req.headers.cookie === undefined || req.get('sec-fetch-site') === 'same-origin'
        : isTrustedOrigin(req, origin, trusted);
    if (!SAFE_METHODS.has(req.method) && !isOurs) throw untrustedOrigin(origin, trusted[0]);
    next();
  };
}

/** Limits the requests per minute of each API key, session or anonymous address in this process. If the limiter fails, requests are allowed. */
function limitRate(perMinute: number): RequestHandler {
  return rateLimit({
    windowMs: 60_000,
    limit: perMinute,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    passOnStoreError: true,
    keyGenerator: (req, res) => {
      const { caller } = stateOf(res);
      return caller?.apiKeyId ?? caller?.sessionId ?? ipKeyGenerator(req.ip ?? '');
    },
    handler: (_req, res, next) => {
      const retryAfter = String(res.getHeader('Retry-After') ?? 60);
      const { caller } = stateOf(res);
      const who = caller === undefined ? 'address' : caller.apiKeyId === null ? 'session' : 'API key';
      const detail = `This ${who} may send ${perMinute} requests a minute. Try again in ${retryAfter} s.`;
      next(new AppError('rate_limited', detail));
    },
  });
}

function isViewer(caller: RequestState['caller']): boolean {
  return caller !== undefined && 'role' in caller && caller.role === 'viewer';
}

/** Checks that the caller has the scope or role that the route requires. */
export function requireAccess(route: Route): RequestHandler {
  const { access, requiresWriteScope } = route;
  return function checkAccess(req, res, next) {
    const { caller } = stateOf(res);
    const { canWrite = false, isOwner = false } = caller ?? {};
    const needsScope = isForWriters({ access }) || requiresWriteScope?.(bodyOf(req)) === true;
    if (needsScope && !canWrite)
      throw new AppError('forbidden', 'This requires an API key with the scope write.');
    if (isViewer(caller) && (isRefusedToViewers(route) || !SAFE_METHODS.has(req.method))) {
      throw new AppError(
        caller?.apiKeyId === null ? 'member_required' : 'forbidden',
        'Viewers have read-only access. Ask an owner to change your role.',
      );
    }
    if (access === 'owner' && !isOwner)
      throw new AppError('owner_required', 'This requires the role owner. Ask an owner of the account.');
    if (access === 'owner key' && !isOwner)
      throw new AppError('owner_required', 'This requires an API key with the rights of an owner.');
    next();
  };
}
