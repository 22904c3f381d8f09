import type { ListedMaintenanceWindow, MaintenanceWindowsQuery } from '@tocsin/contracts/maintenance-window';
import { and, desc, eq, sql, type SQL } from 'drizzle-orm';
import { unknownCursor } from '../database/cursor.ts';
import type { Database } from '../database/open.ts';
import { maintenanceWindows } from './table.ts';
import { readMonitorIds, toListedWindow } from './window-record.ts';

/**
 * A page of the account's windows, newest first: those made before the window `before`, or the latest.
 * @throws AppError validation_failed where `before` is no window of the account
 */
export async function listMaintenanceWindows(
  db: Database,
  accountId: string,
  { limit, before }: MaintenanceWindowsQuery,
): Promise<ListedMaintenanceWindow[]> {
  const rows = await db
    .select()
    .from(maintenanceWindows)
    .where(
      and(
        eq(maintenanceWindows.accountId, accountId),
        before === undefined ? undefined : await isBefore(db, accountId, before),
      ),
    )
    .orderBy(desc(maintenanceWindows.createdAt), desc(maintenanceWindows.id))
    .limit(limit);
  const monitorIds = await readMonitorIds(
    db,
    rows.map((row) => row.id),
  );
  return rows.map((row) => toListedWindow(row, monitorIds.get(row.id) ?? []));
}

async function isBefore(db: Database, accountId: string, id: string): Promise<SQL> {
  const [cursor] = await db
    .select({ createdAt: maintenanceWindows.createdAt })
    .from(maintenanceWindows)
    .where(and(eq(maintenanceWindows.id, id), eq(maintenanceWindows.accountId, accountId)));
  if (!cursor) throw unknownCursor('is not a maintenance window of this account');
  return sql`(${maintenanceWindows.createdAt}, ${maintenanceWindows.id}) < (${cursor.createdAt.toISOString()}::timestamptz, ${id}::uuid)`;
}
