import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@tocsin/contracts/errors';
import type { MaintenanceWindow, MaintenanceWindowUpdate } from '@tocsin/contracts/maintenance-window';
import { nextOccurrence, type WindowSchedule } from '@tocsin/core/maintenance/occurrences';
import { eq, sql } from 'drizzle-orm';
import { clockNow } from '../database/columns.ts';
import type { Database, Transaction } from '../database/open.ts';
import { assignMonitors } from './assign-monitors.ts';
import { readDatabaseClock } from './database-clock.ts';
import { findWindowFaults } from './find-window-faults.ts';
import { lockWindowRow } from './find-window-row.ts';
import { maintenanceOccurrences, maintenanceWindows, type MaintenanceWindowRow } from './table.ts';
import { readMonitorIds, toMaintenanceWindow } from './window-record.ts';

type PlanColumns = Pick<MaintenanceWindowRow, 'state' | 'occurrenceStartsAt' | 'occurrenceEndsAt'>;

/**
 * Changes the given fields of a window. An occurrence that runs goes on with its new end, or is cut short where the new
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
    // What runs may be made to end at once by an end that is past.
    const mayBePast = !rescheduled || before.state === 'running';
    const errors = await findWindowFaults(tx, accountId, { ...schedule, ...pickIds(update) }, mayBePast);
    if (errors.length > 0) {
      throw new AppError('validation_failed', 'The window would break a rule after this update.', { errors });
    }
    const reassigned =
      update.monitorIds !== undefined && !isDeepStrictEqual(update.monitorIds.toSorted(), monitorIds);
    const renamed = update.name !== undefined && update.name !== before.name;
    if (!rescheduled && !reassigned && !renamed) return toMaintenanceWindow(before, monitorIds);

    if (reassigned && update.monitorIds) await assignMonitors(tx, accountId, id, update.monitorIds);
    const [after] = await tx
      .update(maintenanceWindows)
      .set({
        name: update.name ?? before.name,
        ...schedule,
        ...(rescheduled && (await replan(tx, before, schedule))),
        updatedAt: sql`greatest(${clockNow}, ${maintenanceWindows.updatedAt} + interval '1 millisecond')`,
      })
      .where(eq(maintenanceWindows.id, id))
      .returning();
    if (!after) throw new Error('update returned no row');
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

/** The occurrence that a new schedule has now or next; what ran and does not any more is noted as cut short. */
async function replan(
  tx: Transaction,
  before: MaintenanceWindowRow,
  schedule: WindowSchedule,
): Promise<PlanColumns> {
  const now = await readDatabaseClock(tx);
  const occurrence = nextOccurrence(schedule, now);
  const goesOn = before.state === 'running' && occurrence !== null && occurrence.startsAt <= now;
  if (before.state === 'running' && !goesOn && before.occurrenceStartsAt) {
    await tx
      .insert(maintenanceOccurrences)
      .values({
        windowId: before.id,
        startsAt: before.occurrenceStartsAt,
        endsAt: now,
        outcome: 'cut_short',
      })
      .onConflictDoNothing();
  }
  return {
    state: occurrence === null ? 'ended' : goesOn ? 'running' : 'scheduled',
    occurrenceStartsAt: occurrence?.startsAt ?? null,
    occurrenceEndsAt: occurrence?.endsAt ?? null,
  };
}
