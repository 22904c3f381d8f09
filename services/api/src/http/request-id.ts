import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import { stateOf } from './request-state.ts';

const ACCEPTABLE = /^[\w.-]{1,128}$/;

/** Gives each request an id, the caller's own where it is harmless, and answers it as `X-Request-Id` (design §3). */
export const assignRequestId: RequestHandler = (req, res, next) => {
  const given = req.get('x-request-id');
  const requestId = given !== undefined && ACCEPTABLE.test(given) ? given : randomUUID();
  stateOf(res).requestId = requestId;
  res.set('X-Request-Id', requestId);
  next();
};
