import compression from 'compression';
import type { RequestHandler } from 'express';

/** Compresses answers of a kilobyte and more where the client takes it, but for those that say `no-transform`. */
export const compress: RequestHandler = compression();

/**
 * For answers that hold a secret. What is compressed together with text that others choose shows by its length what it is
 * alike (BREACH): so nobody compresses them, neither we nor a proxy.
 */
export const keepUncompressed: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store, no-transform');
  next();
};

/** Answers may hold secrets of an account: nobody on the way keeps them. */
export const keepPrivate: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};
