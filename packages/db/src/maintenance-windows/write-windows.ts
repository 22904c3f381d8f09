import { isDeepStrictEqual } from 'node:util';
import { AppError, type FieldError } from '@tocsin/contracts/errors';
import type {
  MaintenanceWindow,
  MaintenanceWindowInput,
  MaintenanceWindowUpdate,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import {
  endOccurrence,
  nextOccurrence,
  type Occurrence,
  type WindowSchedule,
} from '@tocsin/core/maintenance/occurrences';
import { validateSchedule } from '@tocsin/core/maintenance/validate-window';
import { eq, sql } from 'drizzle-orm';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { arrayOf, firstOf, laterThan, readClock } from '../database/sql.ts';
import { validateMonitorIds } from '../monitors/monitor-row.ts';
import { readOutcomes } from './advance-windows.ts';
import {
  currentOccurrence,
  findWindowRow,
  readMonitorIds,
  storedOccurrence,
  toMaintenanceWindow,
} from './read-windows.ts';
import { maintenanceOccurrences, type MaintenanceWindowRow, maintenanceWindows } from './table.ts';

/** The fields of a window to validate, without those that could not be parsed. */
export interface WindowFields extends Partial<WindowSchedule> {
  readonly monitorIds?: readonly string[];
}

/**
 * The errors of a window beyond the form of its fields: its schedule, and monitors of other accounts.
 * @param mayBePast whether all of it may be over
 */
export async function validateWindow(
  db: Queryable,
  accountId: string,
  fields: WindowFields,
  mayBePast = false,
): Promise<FieldError[]> {
  const now = new Date(await readClock(db));
  const unknown = await validateMonitorIds(db, accountId, fields.monitorIds ?? []);
  return [...validateSchedule(fields, now, mayBePast), ...unknown];
}

/** Plans maintenance; the maintenance clock begins it. The input must pass `validateWindow`. */
export async function createMaintenanceWindow(
  db: Database,
  accountId: string,
  { monitorIds, ...input }: MaintenanceWindowInput,
): Promise<MaintenanceWindow> {
  return db.transaction(async (tx) => {
    const occurrence = nextOccurrence(input, new Date(await readClock(tx)));
    const values = { accountId, ...input, ...toPlan(occurrence, 'scheduled') };
    const row = firstOf(await tx.insert(maintenanceWindows).values(values).returning());
    await assignMonitors(tx, accountId, row.id, monitorIds);
    return toMaintenanceWindow(row, await readMonitorIds(tx, row.id));
  });
}

/**
 * Changes the given fields of a window. An occurrence that has begun continues with its new end, or is cut short if the new schedule
 * has none now; the maintenance clock then settles the monitors.
 * @throws AppError not_found, validation_failed (the merged window breaks a rule)
 */
export async function updateMaintenanceWindow(
  db: Database,
  accountId: string,
  id: string,
  update: MaintenanceWindowUpdate,
): Promise<MaintenanceWindow> {
  return db.transaction(async (tx) => {
    const before = await findWindowRow(tx, accountId, id, 'update');
    const monitorIds = await readMonitorIds(tx, id);
    const schedule = mergeSchedule(before, update);
    const rescheduled = !isDeepStrictEqual(schedule, mergeSchedule(before, {}));
    // An end in the past is allowed for an occurrence that has begun: it ends at once.
    const mayBePast = !rescheduled || currentOccurrence(before, new Date(await readClock(tx))) !== null;
    const fields = { ...schedule, ...(update.monitorIds && { monitorIds: update.monitorIds }) };
    const errors = await validateWindow(tx, accountId, fields, mayBePast);
    if (errors.length > 0) {
      throw new AppError('validation_failed', 'The window would break a rule after this update.', { errors });
    }
    const reassigned =
      update.monitorIds !== undefined && !isDeepStrictEqual(update.monitorIds.toSorted(), monitorIds);
    const renamed = update.name !== undefined && update.name !== before.name;
    if (!rescheduled && !reassigned && !renamed) return toMaintenanceWindow(before, monitorIds);

    // The outcome of an occurrence depends on the monitors that it had, so it is read before they change.
    const plan = rescheduled ? await replan(tx, before, schedule) : {};
    if (reassigned && update.monitorIds) await assignMonitors(tx, accountId, id, update.monitorIds);
    const after = await writeWindow(tx, id, { name: update.name ?? before.name, ...schedule, ...plan });
    return toMaintenanceWindow(after, await readMonitorIds(tx, id));
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

/** Ends the running occurrence of a window, if there is one; `settleMaintenance` then ends it for its monitors. @throws AppError not_found */
export async function endMaintenance(
  db: Database,
  accountId: string,
  id: string,
): Promise<MaintenanceWindow> {
  return db.transaction(async (tx) => {
    const before = await findWindowRow(tx, accountId, id, 'update');
    const monitorIds = await readMonitorIds(tx, id);
    const now = new Date(await readClock(tx));
    const current = currentOccurrence(before, now);
    if (current === null) return toMaintenanceWindow(before, monitorIds);
    const schedule = endOccurrence(mergeSchedule(before, {}), current, now);
    const plan = await replan(tx, before, schedule);
    return toMaintenanceWindow(await writeWindow(tx, id, { ...schedule, ...plan }), monitorIds);
  });
}

/**
 * Deletes a window with its history.
 * @returns the monitors it silenced until now, for `settleMaintenance`; none if it had not begun
 * @throws AppError not_found
 */
export async function deleteMaintenanceWindow(
  db: Database,
  accountId: string,
  id: string,
): Promise<string[]> {
  return db.transaction(async (tx) => {
    const stored = storedOccurrence(await findWindowRow(tx, accountId, id, 'update'));
    const hasBegun = stored !== null && stored.startsAt.getTime() <= (await readClock(tx));
    const monitorIds = hasBegun ? await readMonitorIds(tx, id) : [];
    await tx.delete(maintenanceWindows).where(eq(maintenanceWindows.id, id));
    return monitorIds;
  });
}

type PlanColumns = Pick<MaintenanceWindowRow, 'state' | 'occurrenceStartsAt' | 'occurrenceEndsAt'>;

function toPlan(occurrence: Occurrence | null, state: 'scheduled' | 'running'): PlanColumns {
  return {
    state: occurrence === null ? 'ended' : state,
    occurrenceStartsAt: occurrence?.startsAt ?? null,
    occurrenceEndsAt: occurrence?.endsAt ?? null,
  };
}

/** The occurrence that a new schedule has now or next. An occurrence that has begun and does not continue is recorded. */
async function replan(tx: Transaction, before: MaintenanceWindowRow, schedule: WindowSchedule) {
  const now = new Date(await readClock(tx));
  const occurrence = nextOccurrence(schedule, now);
  const stored = storedOccurrence(before);
  const hasBegun = stored !== null && stored.startsAt <= now;
  // An occurrence that is over, but that the clock has not ended yet, continues if only its end is moved.
  const mayContinue =
    currentOccurrence(before, now) !== null || stored?.startsAt.getTime() === occurrence?.startsAt.getTime();
  const continues = hasBegun && mayContinue && occurrence !== null && occurrence.startsAt <= now;
  if (hasBegun && !continues) {
    const isOver = stored.endsAt <= now;
    const outcome = isOver ? (await readOutcomes(tx, [before.id]))(before) : 'cut_short';
    const endsAt = isOver ? stored.endsAt : now;
    const past = { windowId: before.id, startsAt: stored.startsAt, endsAt, outcome };
    await tx.insert(maintenanceOccurrences).values(past).onConflictDoNothing();
  }
  return toPlan(occurrence, continues ? 'running' : 'scheduled');
}

/** Writes the columns of a locked window. @returns the row afterwards */
async function writeWindow(
  tx: Transaction,
  id: string,
  columns: Partial<MaintenanceWindowRow>,
): Promise<MaintenanceWindowRow> {
  const values = { ...columns, updatedAt: laterThan(maintenanceWindows.updatedAt) };
  const isThis = eq(maintenanceWindows.id, id);
  return firstOf(await tx.update(maintenanceWindows).set(values).where(isThis).returning());
}

/** Makes these the monitors of a window. A monitor that was deleted meanwhile is left out. */
async function assignMonitors(
  tx: Transaction,
  accountId: string,
  windowId: string,
  monitorIds: readonly string[],
): Promise<void> {
  const ids = arrayOf('uuid', monitorIds);
  await tx.execute(sql`
    delete from maintenance_window_monitors where window_id = ${windowId} and monitor_id <> all(${ids})`);
  await tx.execute(sql`
    insert into maintenance_window_monitors (window_id, monitor_id)
    select ${windowId}, id from monitors where account_id = ${accountId} and id = any(${ids}) order by id for key share
    on conflict do nothing`);
}
