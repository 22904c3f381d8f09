import type { Database } from '@tocsin/db/database/open';
import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';

const EVERY_MS = 10_000;
/** Every notifier looks twice a second: what is this late was left by all of them. */
const BEHIND_MS = 30_000;

/**
 * Begins and ends the windows that no notifier has looked at. Whether a monitor is in maintenance follows from the occurrence that its
 * window holds, so the next one must be planned also while no notifier runs.
 */
export function startPlanningWindows({
  db,
  isLeader,
  logger,
}: {
  readonly db: Database;
  /** Of the api processes, one plans. */
  readonly isLeader: () => boolean;
  readonly logger: Logger;
}): Loop {
  return createLoop({
    name: 'Planning maintenance windows',
    everyMs: EVERY_MS,
    logger,
    work: async () => {
      if (!isLeader()) return;
      const { brokenIds } = await advanceWindows(db, { behindMs: BEHIND_MS });
      for (const maintenanceWindowId of brokenIds) {
        logger.error('A maintenance window ended: its rule cannot be read any more', { maintenanceWindowId });
      }
    },
  });
}
