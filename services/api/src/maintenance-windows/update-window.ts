import { updateMaintenanceWindow } from '@tocsin/db/maintenance-windows/write-windows';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { bodyOf } from '../http/json-body.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';
import { parseUpdate } from './window-fields.ts';

/** Changes a maintenance window; what that means for its monitors takes effect with the clock's next round. */
export function updateWindowHandler({ db }: ApiContext): RequestHandler {
  return async function answerUpdate(req, res) {
    const { accountId } = callerOf(res);
    const id = pathIdOf(req);
    const update = await parseUpdate(db, accountId, id, bodyOf(req));
    res.json({ maintenanceWindow: await updateMaintenanceWindow(db, accountId, id, update) });
  };
}
