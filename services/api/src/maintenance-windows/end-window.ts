import { endMaintenance } from '@tocsin/db/maintenance-windows/write-windows';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';
import { settleAtOnce } from './settle-at-once.ts';

/** Ends what of a maintenance window runs, and leaves what is to come. */
export function endWindowHandler(context: ApiContext): RequestHandler {
  return async function answerEnd(req, res) {
    const maintenanceWindow = await endMaintenance(context.db, callerOf(res).accountId, pathIdOf(req));
    await settleAtOnce(context, maintenanceWindow.monitorIds);
    res.json({ maintenanceWindow });
  };
}
