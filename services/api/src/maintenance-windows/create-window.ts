import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/write-windows';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { bodyOf } from '../http/json-body.ts';
import { callerOf } from '../http/request-state.ts';
import { parseCreate } from './window-fields.ts';

/** Plans maintenance, once or recurring. The notifiers' clock begins and ends it. */
export function createWindowHandler({ db }: ApiContext): RequestHandler {
  return async function answerCreate(req, res) {
    const { accountId } = callerOf(res);
    const input = await parseCreate(db, accountId, bodyOf(req));
    const maintenanceWindow = await createMaintenanceWindow(db, accountId, input);
    res.status(201).location(`${req.baseUrl}/${maintenanceWindow.id}`).json({ maintenanceWindow });
  };
}
