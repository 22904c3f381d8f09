import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { endOccurrence } from '@tocsin/core/maintenance/end-occurrence';
import type { Database } from '../database/open.ts';
import { readDatabaseClock } from './database-clock.ts';
import { lockWindowRow } from './find-window-row.ts';
import { replan, writeWindow } from './replan-window.ts';
import { currentOccurrence, readMonitorIds, toMaintenanceWindow } from './window-record.ts';

/**
 * Ends the occurrence of a window that runs, by Postgres' clock; a window that recurs goes on with the next one. Where none runs it stays
 * as it is. Its monitors are then to come out of maintenance: `settleMaintenance`.
 * @throws AppError not_found
 */
export async function endMaintenance(
  db: Database,
  accountId: string,
  id: string,
): Promise<MaintenanceWindow> {
  return db.transaction(async (tx) => {
    const before = await lockWindowRow(tx, accountId, id);
    const monitorIds = (await readMonitorIds(tx, [id])).get(id) ?? [];
    const now = await readDatabaseClock(tx);
    const current = currentOccurrence(before, now);
    if (current === null) return toMaintenanceWindow(before, monitorIds);
    const schedule = endOccurrence(before, current, now);
    const { startsAt, endsAt, rrule } = schedule;
    const plan = await replan(tx, before, schedule);
    return toMaintenanceWindow(await writeWindow(tx, id, { startsAt, endsAt, rrule, ...plan }), monitorIds);
  });
}
