import { recentChecksQuerySchema } from '@tocsin/contracts/monitors/events';
import { listRecentChecks } from '@tocsin/db/events/read-events';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { parseFields } from '../http/parse-fields.ts';
import { callerOf } from '../http/request-state.ts';

/** The latest checks of the monitors that a list has on screen (design §3 "Dashboard API"). */
export function listRecentChecksHandler({ db }: Pick<ApiContext, 'db'>): RequestHandler {
  return async function answerRecentChecks(req, res) {
    const { monitorIds } = parseFields(recentChecksQuerySchema, req.query);
    res.json({ recentChecks: await listRecentChecks(db, callerOf(res).accountId, monitorIds) });
  };
}
