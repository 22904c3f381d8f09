import { eq } from 'drizzle-orm';
import { checkRollups } from '../check-rollups/table.ts';
import type { Database } from '../database/open.ts';
import { events } from '../events/table.ts';
import { monitorRegions } from '../monitor-regions/table.ts';
import { lockMonitorRow } from './find-monitor-row.ts';
import { requireVersion } from './monitor-version.ts';
import { monitors } from './table.ts';

/**
 * Deletes a monitor with all its events, rollups and incidents (specification "Delete a monitor"). Status changes and deliveries
 * stay: an alert that was due is still sent.
 * @param versions that the monitor must have one of, see `versionOf`; null: any
 * @throws AppError not_found, precondition_failed
 */
export async function deleteMonitor(
  db: Database,
  accountId: string,
  id: string,
  versions: ReadonlySet<string> | null = null,
): Promise<void> {
  await db.transaction(async (tx) => {
    requireVersion(await lockMonitorRow(tx, accountId, id, 'update'), versions);
    await tx.delete(events).where(eq(events.monitorId, id));
    await tx.delete(checkRollups).where(eq(checkRollups.monitorId, id));
    await tx.delete(monitorRegions).where(eq(monitorRegions.monitorId, id));
    await tx.delete(monitors).where(eq(monitors.id, id));
  });
}
