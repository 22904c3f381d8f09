import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@tocsin/contracts/errors';
import type { MaintenanceWindow, MaintenanceWindowUpdate } from '@tocsin/contracts/maintenance-window';
import type { WindowSchedule } from '@tocsin/core/maintenance/occurrences';
import type { Database } from '../database/open.ts';
import { assignMonitors } from './assign-monitors.ts';
import { readDatabaseClock } from './database-clock.ts';
import { findWindowFaults } from './find-window-faults.ts';
import { lockWindowRow } from './find-window-row.ts';
import { replan, writeWindow } from './replan-window.ts';
import { currentOccurrence, readMonitorIds, toMaintenanceWindow } from './window-record.ts';

/**
 * Changes the given fields of a window. An occurrence that has begun goes on with its new end, or is cut short where the new
 * schedule has none now; the clock brings the monitors in line.
 * @throws AppError not_found, validation_failed (the merged window breaks a rule)
 */
export async function updateMaintenanceWindow(
  db: Database,
  accountId: string,
  id: string,
  update: MaintenanceWindowUpdate,
): Promise<MaintenanceWindow> {
  return db.transaction(async (tx) => {
    const before = await lockWindowRow(tx, accountId, id);
    const monitorIds = (await readMonitorIds(tx, [id])).get(id) ?? [];
    const schedule = mergeSchedule(before, update);
    const rescheduled = !isDeepStrictEqual(schedule, mergeSchedule(before, {}));
    // What has begun may be made to end at once by an end that is past.
    const mayBePast = !rescheduled || currentOccurrence(before, await readDatabaseClock(tx)) !== null;
    const errors = await findWindowFaults(tx, accountId, { ...schedule, ...pickIds(update) }, mayBePast);
    if (errors.length > 0) {
      throw new AppError('validation_failed', 'The window would break a rule after this update.', { errors });
    }
    const reassigned =
      update.monitorIds !== undefined && !isDeepStrictEqual(update.monitorIds.toSorted(), monitorIds);
    const renamed = update.name !== undefined && update.name !== before.name;
    if (!rescheduled && !reassigned && !renamed) return toMaintenanceWindow(before, monitorIds);

    // What became of an occurrence depends on the monitors that it had.
    const plan = rescheduled ? await replan(tx, before, schedule) : {};
    if (reassigned && update.monitorIds) await assignMonitors(tx, accountId, id, update.monitorIds);
    const after = await writeWindow(tx, id, {
      name: update.name ?? before.name,
      ...schedule,
      ...plan,
    });
    return toMaintenanceWindow(after, (await readMonitorIds(tx, [id])).get(id) ?? []);
  });
}

/** The schedule after an update; null clears the rule. */
export function mergeSchedule(
  before: WindowSchedule,
  { startsAt, endsAt, rrule, timeZone }: MaintenanceWindowUpdate,
): WindowSchedule {
  return {
    startsAt: startsAt ?? before.startsAt,
    endsAt: endsAt ?? before.endsAt,
    rrule: rrule === undefined ? before.rrule : rrule,
    timeZone: timeZone ?? before.timeZone,
  };
}

function pickIds({ monitorIds }: MaintenanceWindowUpdate): { monitorIds?: readonly string[] } {
  return monitorIds === undefined ? {} : { monitorIds };
}
