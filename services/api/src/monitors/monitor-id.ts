import { monitorNotFound } from '@tocsin/db/monitors/monitor-row';
import type { Request, RequestHandler } from 'express';
import { z } from 'zod';

const monitorId = z.uuid();

/** Refuses an `:id` that cannot be one of ours, as an unknown one: 404 (design §3). */
export const requireMonitorId: RequestHandler = (req, _res, next) => {
  if (!monitorId.safeParse(req.params['id']).success) throw monitorNotFound();
  next();
};

/** The `:id` of a route behind `requireMonitorId`. */
export function monitorIdOf(req: Request): string {
  return monitorId.parse(req.params['id']).toLowerCase();
}
