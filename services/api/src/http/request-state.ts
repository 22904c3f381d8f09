import type { UserRole } from '@tocsin/contracts/vocabulary';
import type { Response } from 'express';

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
  /** Of the request's span; unset where there is no tracing. */
  traceparent?: string;
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
