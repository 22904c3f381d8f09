import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { ifMatchOf } from '../http/request-headers.ts';
import { callerOf } from '../http/request-state.ts';
import { monitorIdOf } from './monitor-id.ts';

/** Specification "5. Delete a monitor". */
export function deleteMonitorHandler(context: ApiContext): RequestHandler {
  return async function answerDelete(req, res) {
    const id = monitorIdOf(req);
    await deleteMonitor(context.db, callerOf(res).accountId, id, ifMatchOf(req));
    res.status(204).end();
  };
}
