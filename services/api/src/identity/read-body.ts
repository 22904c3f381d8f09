import type { RequestHandler } from 'express';
import { decodeBody, readBytes } from '../http/json-body.ts';

/**
 * Reads a body for better-auth, which would read one to its end, however long, and takes a client that leaves in the middle of it for an
 * error of its own.
 */
export const readAuthBody: readonly RequestHandler[] = [
  readBytes,
  (req, _res, next) => {
    const bytes: unknown = req.body;
    req.body = Buffer.isBuffer(bytes) && bytes.length > 0 ? decodeBody(bytes) : undefined;
    next();
  },
];
