import { SETTLED_AT_ONCE, settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import type { ApiContext } from '../context.ts';

/**
 * Brings the monitors of a window that was ended out of maintenance: here where they are few, else the clock does it. The window has ended
 * already: where this fails, the clock does it too.
 */
export async function settleAtOnce(
  { db, producers, logger }: ApiContext,
  monitorIds: readonly string[],
): Promise<void> {
  if (monitorIds.length === 0 || monitorIds.length > SETTLED_AT_ONCE) return;
  try {
    const { statusChangeIds } = await settleMaintenance(db, monitorIds);
    producers.addStatusChanges(statusChangeIds).catch((error: unknown) => {
      logger.debug('Could not hint at status changes', { error });
    });
  } catch (error) {
    logger.warn('Could not end maintenance at once; the clock does it', { error });
  }
}
