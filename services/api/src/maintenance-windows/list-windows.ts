import { listMaintenanceWindows } from '@tocsin/db/maintenance-windows/list-maintenance-windows';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { callerOf } from '../http/request-state.ts';

/** Every maintenance window of the account, the newest first. */
export function listWindowsHandler({ db }: ApiContext): RequestHandler {
  return async function answerList(_req, res) {
    res.json({ maintenanceWindows: await listMaintenanceWindows(db, callerOf(res).accountId) });
  };
}
