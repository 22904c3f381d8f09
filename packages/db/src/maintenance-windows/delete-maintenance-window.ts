import { eq } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { readDatabaseClock } from './database-clock.ts';
import { lockWindowRow } from './find-window-row.ts';
import { maintenanceWindows } from './table.ts';
import { readMonitorIds, storedOccurrence } from './window-record.ts';

/**
 * Deletes a window with its past. If it has begun, its monitors are then to come out of maintenance: `settleMaintenance`.
 * @returns the monitors it silenced until now; none where it had not begun
 * @throws AppError not_found
 */
export async function deleteMaintenanceWindow(
  db: Database,
  accountId: string,
  id: string,
): Promise<string[]> {
  return db.transaction(async (tx) => {
    const stored = storedOccurrence(await lockWindowRow(tx, accountId, id));
    const hasBegun = stored !== null && stored.startsAt <= (await readDatabaseClock(tx));
    const monitorIds = hasBegun ? await readMonitorIds(tx, [id]) : null;
    await tx.delete(maintenanceWindows).where(eq(maintenanceWindows.id, id));
    return monitorIds?.get(id) ?? [];
  });
}
