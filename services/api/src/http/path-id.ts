import type { AppError } from '@tocsin/contracts/errors';
import type { Request, RequestHandler } from 'express';
import { z } from 'zod';

const uuid = z.uuid();

/** Refuses an `:id` that cannot be one of ours, as an unknown one: 404 (design §3). */
export function requirePathId(notFound: () => AppError): RequestHandler {
  return function checkId(req, _res, next) {
    if (!uuid.safeParse(req.params['id']).success) throw notFound();
    next();
  };
}

/** The `:id` of a route behind `requirePathId`. */
export function pathIdOf(req: Request): string {
  return uuid.parse(req.params['id']).toLowerCase();
}
