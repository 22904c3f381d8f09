import { deleteMaintenanceWindow } from '@tocsin/db/maintenance-windows/write-windows';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';
import { settleAtOnce } from './settle-at-once.ts';

/** Deletes a maintenance window, and ends it if it runs. */
export function deleteWindowHandler(context: ApiContext): RequestHandler {
  return async function answerDelete(req, res) {
    const monitorIds = await deleteMaintenanceWindow(context.db, callerOf(res).accountId, pathIdOf(req));
    await settleAtOnce(context, monitorIds);
    res.status(204).end();
  };
}
