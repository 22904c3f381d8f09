import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import type { RequestHandler } from 'express';

/** better-auth reads a body to its end, however long: what is too long, or does not say how long it is, does not get there. */
export const limitBody: RequestHandler = (req, _res, next) => {
  const length = req.get('content-length');
  const isBounded =
    length === undefined ? !('transfer-encoding' in req.headers) : Number(length) <= LIMITS.apiBodyBytes;
  if (!isBounded) {
    throw new AppError('body_too_large', `Send at most ${LIMITS.apiBodyBytes} bytes, with a Content-Length.`);
  }
  next();
};
