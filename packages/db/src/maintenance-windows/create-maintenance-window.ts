import type { MaintenanceWindow, MaintenanceWindowInput } from '@tocsin/contracts/maintenance-window';
import { nextOccurrence } from '@tocsin/core/maintenance/occurrences';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database/open.ts';
import { assignMonitors } from './assign-monitors.ts';
import { readDatabaseClock } from './database-clock.ts';
import { maintenanceWindows } from './table.ts';
import { readMonitorIds, toMaintenanceWindow } from './window-record.ts';

/** Plans maintenance; the clock begins it. The input must have no fault that `findWindowFaults` finds. */
export async function createMaintenanceWindow(
  db: Database,
  accountId: string,
  { monitorIds, ...input }: MaintenanceWindowInput,
): Promise<MaintenanceWindow> {
  return db.transaction(async (tx) => {
    const occurrence = nextOccurrence(input, await readDatabaseClock(tx));
    const [row] = await tx
      .insert(maintenanceWindows)
      .values({
        id: uuidv7(),
        accountId,
        ...input,
        state: occurrence === null ? 'ended' : 'scheduled',
        occurrenceStartsAt: occurrence?.startsAt ?? null,
        occurrenceEndsAt: occurrence?.endsAt ?? null,
      })
      .returning();
    if (!row) throw new Error('insert returned no row');
    await assignMonitors(tx, accountId, row.id, monitorIds);
    const assigned = await readMonitorIds(tx, [row.id]);
    return toMaintenanceWindow(row, assigned.get(row.id) ?? []);
  });
}
