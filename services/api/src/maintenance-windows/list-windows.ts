import { maintenanceWindowsQuerySchema } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { listMaintenanceWindows } from '@tocsin/db/maintenance-windows/read-windows';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { parseFields } from '../http/parse-fields.ts';
import { callerOf } from '../http/request-state.ts';

/** A page of the account's maintenance windows, the newest first. */
export function listWindowsHandler({ db }: ApiContext): RequestHandler {
  return async function answerList(req, res) {
    const query = parseFields(maintenanceWindowsQuerySchema, req.query);
    res.json({ maintenanceWindows: await listMaintenanceWindows(db, callerOf(res).accountId, query) });
  };
}
