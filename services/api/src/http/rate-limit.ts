import { AppError } from '@tocsin/contracts/errors';
import { rateLimit } from 'express-rate-limit';
import type { RequestHandler } from 'express';
import { callerOf } from './request-state.ts';
import type { Caller } from './request-state.ts';

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
