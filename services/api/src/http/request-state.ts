import { randomUUID } from 'node:crypto';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import type { Actor } from '@tocsin/db/audit-log/actor';
import type { RequestHandler, Response } from 'express';
import { VERSION } from '../version.ts';

interface AnyCaller extends Omit<Actor, 'accountId'> {
  readonly canWrite: boolean;
}

interface ApiKeyCaller extends AnyCaller {
  readonly accountId: string;
  readonly id: string;
  readonly apiKeyId: string;
  readonly userId: null;
  /** Role of the user who created the key. Null for a key that no member of the account created. */
  readonly role: UserRole | null;
  readonly sessionId: null;
}

/** A signed-in user, without an account. */
export interface SessionCaller extends AnyCaller {
  readonly id: string;
  readonly apiKeyId: null;
  readonly userId: string;
  readonly sessionId: string;
}

export interface UserCaller extends SessionCaller {
  readonly accountId: string;
  readonly role: UserRole;
}

/** An operator's session, or the key of the settings. */
export interface OperatorCaller extends AnyCaller {
  readonly accountId: string;
  readonly apiKeyId: null;
  readonly userId: string | null;
  readonly sessionId: string | null;
  readonly isOperator: true;
}

/** An API key under `/api/cli`, a signed-in user under `/api/dashboard`. */
export type Caller = ApiKeyCaller | UserCaller;

/** State that the stages of a request share, in `res.locals`. */
export interface RequestState {
  requestId: string;
  /** The path pattern, such as `/api/cli/monitors/:id`. Unset if no path matched. */
  route?: string;
  caller?: Caller | SessionCaller | OperatorCaller;
  /** Excludes the duration from the metrics. */
  isStream?: true;
}

export function stateOf(res: Response): RequestState {
  return res.locals as RequestState;
}

/** @throws Error if the route does not belong to an account */
export function callerOf(res: Response): Caller {
  const { caller } = stateOf(res);
  if (caller === undefined || !('role' in caller)) throw new Error('this route belongs to no account');
  return caller;
}

const ACCEPTABLE = /^[\w.-]{1,128}$/;

/** Gives each request an id, the caller's `X-Request-Id` if valid, and returns it with the version of this server. */
export const assignRequestId: RequestHandler = (req, res, next) => {
  const given = req.get('x-request-id');
  const requestId = given !== undefined && ACCEPTABLE.test(given) ? given : randomUUID();
  stateOf(res).requestId = requestId;
  res.set({ 'X-Request-Id': requestId, 'Tocsin-Version': VERSION });
  next();
};

/** Takes broken percent-encoding literally, so that the path is not found. Express would respond with 400 before any route. */
export const repairPath: RequestHandler = (req, _res, next) => {
  const [path = '', ...query] = req.url.split('?');
  try {
    decodeURIComponent(path);
  } catch {
    req.url = [path.replaceAll('%', '%25'), ...query].join('?');
  }
  next();
};
