import { getMaintenanceWindow } from '@tocsin/db/maintenance-windows/read-windows';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';

/** One maintenance window with its next occurrences. */
export function getWindowHandler({ db }: ApiContext): RequestHandler {
  return async function answerGet(req, res) {
    const { accountId } = callerOf(res);
    res.json({ maintenanceWindow: await getMaintenanceWindow(db, accountId, pathIdOf(req)) });
  };
}
