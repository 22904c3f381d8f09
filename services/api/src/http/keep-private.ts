import type { RequestHandler } from 'express';

/** Answers may hold secrets of an account: nobody on the way keeps them. */
export const keepPrivate: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};
