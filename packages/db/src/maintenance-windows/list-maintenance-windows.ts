import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { desc, eq } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { maintenanceWindows } from './table.ts';
import { readMonitorIds, toMaintenanceWindow } from './window-record.ts';

/** Every window of the account, by creation date, then id, descending. */
export async function listMaintenanceWindows(db: Database, accountId: string): Promise<MaintenanceWindow[]> {
  const rows = await db
    .select()
    .from(maintenanceWindows)
    .where(eq(maintenanceWindows.accountId, accountId))
    .orderBy(desc(maintenanceWindows.createdAt), desc(maintenanceWindows.id));
  const monitorIds = await readMonitorIds(
    db,
    rows.map((row) => row.id),
  );
  return rows.map((row) => toMaintenanceWindow(row, monitorIds.get(row.id) ?? []));
}
