import { eq } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { lockWindowRow } from './find-window-row.ts';
import { maintenanceWindows } from './table.ts';
import { readMonitorIds } from './window-record.ts';

/**
 * Deletes a window with its past. If it runs, its monitors are then to come out of maintenance: `settleMaintenance`.
 * @returns the monitors it silenced until now; none where it did not run
 * @throws AppError not_found
 */
export async function deleteMaintenanceWindow(
  db: Database,
  accountId: string,
  id: string,
): Promise<string[]> {
  return db.transaction(async (tx) => {
    const { state } = await lockWindowRow(tx, accountId, id);
    const monitorIds = state === 'running' ? await readMonitorIds(tx, [id]) : null;
    await tx.delete(maintenanceWindows).where(eq(maintenanceWindows.id, id));
    return monitorIds?.get(id) ?? [];
  });
}
