import { AppError } from '@tocsin/contracts/errors';
import type { Request, RequestHandler } from 'express';
import { callerOf } from '../http/request-state.ts';

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
