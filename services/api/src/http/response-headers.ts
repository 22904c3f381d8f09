import compression from 'compression';
import type { RequestHandler } from 'express';

/** Compresses responses of a kilobyte and more if the client accepts it, except those with `no-transform`. */
export const compress: RequestHandler = compression();

/**
 * For responses that contain a secret. The length of a secret compressed together with text that others choose reveals their
 * similarity (BREACH), so neither this server nor a proxy may compress them.
 */
export const keepUncompressed: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store, no-transform');
  next();
};

/** Responses may contain secrets of an account: no cache may store them. */
export const keepPrivate: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};
