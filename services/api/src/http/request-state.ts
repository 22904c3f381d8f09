import { randomUUID } from 'node:crypto';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import type { RequestHandler, Response } from 'express';

interface AnyCaller {
  readonly accountId: string;
  readonly canWrite: boolean;
}

interface ApiKeyCaller extends AnyCaller {
  readonly apiKeyId: string;
  readonly userId: null;
  readonly role: null;
  readonly sessionId: null;
}

interface UserCaller extends AnyCaller {
  readonly apiKeyId: null;
  readonly userId: string;
  readonly role: UserRole;
  readonly sessionId: string;
}

/** Whom a request acts for: an API key under `/api/cli`, a signed-in user under `/api/dashboard`. */
export type Caller = ApiKeyCaller | UserCaller;

/** What the stages of one request tell each other; lives in `res.locals`. */
export interface RequestState {
  requestId: string;
  /** The pattern of the path, as `/api/cli/monitors/:id`; unset where no path matched. */
  route?: string;
  /** Unset until the request is authenticated. */
  caller?: Caller;
  /** Whether the answer goes on until somebody leaves: how long it took says nothing of the service. */
  isStream?: true;
}

export function stateOf(res: Response): RequestState {
  return res.locals as RequestState;
}

/** The caller of an authenticated request. @throws Error where the route is not behind `authenticate` or `authenticateSession` */
export function callerOf(res: Response): Caller {
  const { caller } = stateOf(res);
  if (caller === undefined) throw new Error('this route is not behind authenticate');
  return caller;
}

const ACCEPTABLE = /^[\w.-]{1,128}$/;

/** Gives each request an id, the caller's own where it is harmless, and answers it as `X-Request-Id` (design §3). */
export const assignRequestId: RequestHandler = (req, res, next) => {
  const given = req.get('x-request-id');
  const requestId = given !== undefined && ACCEPTABLE.test(given) ? given : randomUUID();
  stateOf(res).requestId = requestId;
  res.set('X-Request-Id', requestId);
  next();
};

/**
 * A path with broken percent-encoding names nothing of ours, which is for the routes to say, each in its turn (404, design
 * §3). Express would answer 400 before any of them: so the stray percent signs are taken as they are.
 */
export const repairPath: RequestHandler = (req, _res, next) => {
  const [path = '', ...query] = req.url.split('?');
  try {
    decodeURIComponent(path);
  } catch {
    req.url = [path.replaceAll('%', '%25'), ...query].join('?');
  }
  next();
};
