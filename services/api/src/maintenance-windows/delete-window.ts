import { deleteMaintenanceWindow } from '@tocsin/db/maintenance-windows/delete-maintenance-window';
import { SETTLED_AT_ONCE, settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';

/** Deletes a maintenance window, and ends it if it runs: here for a few monitors, by the clock for many. */
export function deleteWindowHandler(context: ApiContext): RequestHandler {
  return async function answerDelete(req, res) {
    const monitorIds = await deleteMaintenanceWindow(context.db, callerOf(res).accountId, pathIdOf(req));
    if (monitorIds.length > 0 && monitorIds.length <= SETTLED_AT_ONCE) await endNow(context, monitorIds);
    res.status(204).end();
  };
}

/** The window is gone already: where this fails, the clock does it. */
async function endNow({ db, producers, logger }: ApiContext, monitorIds: readonly string[]): Promise<void> {
  try {
    const { statusChangeIds } = await settleMaintenance(db, monitorIds);
    producers.addStatusChanges(statusChangeIds).catch((error: unknown) => {
      logger.debug('Could not hint at status changes', { error });
    });
  } catch (error) {
    logger.warn('Could not end maintenance at once; the clock does it', { error });
  }
}
