import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { LeaderLoopOptions } from '../housekeeping/housekeeping.ts';

const EVERY_MS = 10_000;
/** Notifiers poll twice a second, so all of them have missed a window that is this late. */
const BEHIND_MS = 30_000;

/** Begins and ends windows without notifiers, because the next occurrence must be planned. */
export function startPlanningWindows({
  db,
  isLeader,
  logger,
}: Omit<LeaderLoopOptions, 'databaseClock'>): Loop {
  const work = async (): Promise<void> => {
    if (!isLeader()) return;
    const { brokenIds, refused } = await advanceWindows(db, { behindMs: BEHIND_MS });
    for (const maintenanceWindowId of brokenIds)
      logger.error('Ended a maintenance window whose rule is no longer valid', { maintenanceWindowId });
    for (const { id: maintenanceWindowId, error } of refused)
      logger.error('PostgreSQL refuses the end of a maintenance window', { maintenanceWindowId, error });
  };
  return createLoop({ name: 'Planning maintenance windows', everyMs: EVERY_MS, logger, work });
}
