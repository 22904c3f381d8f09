import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@tocsin/contracts/errors';
import type { FieldError } from '@tocsin/contracts/errors';
import type {
  MaintenanceWindow,
  MaintenanceWindowInput,
  MaintenanceWindowUpdate,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { endOccurrence, nextOccurrence, type WindowSchedule } from '@tocsin/core/maintenance/occurrences';
import { windowProblems } from '@tocsin/core/maintenance/validate-window';
import { eq, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { arrayOf, clockNow, readDatabaseClock } from '../database/sql.ts';
import { readOutcomes } from './advance-windows.ts';
import {
  currentOccurrence,
  lockWindowRow,
  readMonitorIds,
  storedOccurrence,
  toMaintenanceWindow,
} from './read-windows.ts';
import { maintenanceOccurrences, type MaintenanceWindowRow, maintenanceWindows } from './table.ts';

/** What of a window is to be judged; a field that could not be read is left out. */
export interface WindowFields extends Partial<WindowSchedule> {
  readonly monitorIds?: readonly string[];
}

/**
 * What is wrong with a window beyond the form of its fields: its schedule, and monitors that are not the account's.
 * @param mayBePast whether all of it may be over
 */
export async function findWindowFaults(
  db: Queryable,
  accountId: string,
  fields: WindowFields,
  mayBePast = false,
): Promise<FieldError[]> {
  const now = await readDatabaseClock(db);
  return [
    ...windowProblems(fields, now, mayBePast),
    ...(await unknownMonitors(db, accountId, fields.monitorIds ?? [])),
  ];
}

async function unknownMonitors(
  db: Queryable,
  accountId: string,
  monitorIds: readonly string[],
): Promise<FieldError[]> {
  if (monitorIds.length === 0) return [];
  const { rows } = await db.execute<{ id: string }>(sql`
    select id from monitors where account_id = ${accountId} and id = any(${arrayOf('uuid', monitorIds)})`);
  const known = new Set(rows.map((row) => row.id));
  return monitorIds.flatMap((id, index) =>
    known.has(id) ? [] : [{ path: `monitorIds.${index}`, message: 'is no monitor of this account' }],
  );
}

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

type PlanColumns = Pick<MaintenanceWindowRow, 'state' | 'occurrenceStartsAt' | 'occurrenceEndsAt'>;

/**
 * The occurrence that a new schedule has now or next. What has begun and does not go on is noted: as cut short, or where it was over
 * before the clock looked at it, as it ended.
 */
async function replan(
  tx: Transaction,
  before: MaintenanceWindowRow,
  schedule: WindowSchedule,
): Promise<PlanColumns> {
  const now = await readDatabaseClock(tx);
  const occurrence = nextOccurrence(schedule, now);
  const stored = storedOccurrence(before);
  const hasBegun = stored !== null && stored.startsAt <= now;
  // An occurrence that is over, but was not ended by the clock yet, goes on where its end alone is moved.
  const mayGoOn =
    currentOccurrence(before, now) !== null || stored?.startsAt.getTime() === occurrence?.startsAt.getTime();
  const goesOn = hasBegun && mayGoOn && occurrence !== null && occurrence.startsAt <= now;
  if (hasBegun && !goesOn) {
    const isOver = stored.endsAt <= now;
    const outcome = isOver ? (await readOutcomes(tx, [before.id]))(before) : 'cut_short';
    const endsAt = isOver ? stored.endsAt : now;
    await tx
      .insert(maintenanceOccurrences)
      .values({ windowId: before.id, startsAt: stored.startsAt, endsAt, outcome })
      .onConflictDoNothing();
  }
  return {
    state: occurrence === null ? 'ended' : goesOn ? 'running' : 'scheduled',
    occurrenceStartsAt: occurrence?.startsAt ?? null,
    occurrenceEndsAt: occurrence?.endsAt ?? null,
  };
}

/** Writes the columns of a window that is locked. @returns the row as it is then */
async function writeWindow(
  tx: Transaction,
  id: string,
  columns: Partial<WindowSchedule & PlanColumns & Pick<MaintenanceWindowRow, 'name'>>,
): Promise<MaintenanceWindowRow> {
  const updatedAt = sql`greatest(${clockNow}, ${maintenanceWindows.updatedAt} + interval '1 millisecond')`;
  const [after] = await tx
    .update(maintenanceWindows)
    .set({ ...columns, updatedAt })
    .where(eq(maintenanceWindows.id, id))
    .returning();
  if (!after) throw new Error('update returned no row');
  return after;
}

/** Makes these the monitors of a window. One that was deleted meanwhile is left out. */
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
