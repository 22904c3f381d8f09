import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import type { Database } from '../database/open.ts';
import { findWindowRow } from './find-window-row.ts';
import { readMonitorIds, toMaintenanceWindow } from './window-record.ts';

/** @throws AppError not_found */
export async function getMaintenanceWindow(
  db: Database,
  accountId: string,
  id: string,
): Promise<MaintenanceWindow> {
  const row = await findWindowRow(db, accountId, id);
  const monitorIds = await readMonitorIds(db, [id]);
  return toMaintenanceWindow(row, monitorIds.get(id) ?? []);
}
