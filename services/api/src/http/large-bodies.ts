import { LIMITS } from '@tocsin/contracts/limits';
import { FairLimiter } from '@tocsin/runtime/fair-limiter';
import type { Request, RequestHandler } from 'express';
import { unavailable } from './errors.ts';
import { callerOf } from './request-state.ts';

/** A body, its text and its values take several hundred MB. The chart limits the process to 768. */
const MAX_AT_ONCE = 2;
/** The duration of a large set. Waiting bodies are not in memory. */
const WAIT_MS = 10_000;

/** Admits few requests with large bodies at a time, one per account, until their responses end. Others wait, then get 503. */
export function boundLargeBodies(waitMs: number = WAIT_MS): RequestHandler {
  const limiter = new FairLimiter({ limit: MAX_AT_ONCE, limits: { account: 1 }, sharedBy: 'account' });
  return async function admit(req, res, next) {
    if (!mayBeLarge(req)) {
      next();
      return;
    }
    const release = await limiter.acquire({ account: callerOf(res).accountId }, waitMs);
    if (release === null) throw unavailable('Other large sets are being applied. Try again later.');
    const finish = (): void => {
      req.socket.off('close', finish);
      release();
    };
    res.once('close', finish);
    // A response behind another one gets no event when its connection closes.
    req.socket.once('close', finish);
    if (req.socket.destroyed) finish();
    else next();
  };
}

function mayBeLarge(req: Request): boolean {
  const length = req.get('content-length');
  if (length === undefined) return req.get('transfer-encoding') !== undefined;
  return Number(length) > LIMITS.apiBodyBytes || req.get('content-encoding') !== undefined;
}
