import { AppError, type FieldError } from '@tocsin/contracts/errors';
import {
  type MaintenanceWindow,
  type MaintenanceWindowInput,
  type MaintenanceWindowUpdate,
  updateMaintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import {
  endOccurrence,
  nextOccurrence,
  type Occurrence,
  type WindowSchedule,
} from '@tocsin/core/maintenance/occurrences';
import { validateSchedule } from '@tocsin/core/maintenance/validate-window';
import { and, eq } from 'drizzle-orm';
import type { Actor } from '../audit-log/actor.ts';
import {
  deleteWindowMatches,
  listMonitorsOf,
  lockAssignments,
  requireAssignmentQuota,
} from '../assignments/assignments.ts';
import { matchOwner } from '../assignments/match-selectors.ts';
import { requireQuotas, type WriteContext } from '../accounts/quotas.ts';
import { changesOf, recordAudit, recordOf } from '../audit-log/record-audit.ts';
import { requireFound, requireVersion, rethrowConflict } from '../database/errors.ts';
import { changedFields, merge, pick } from '../database/fields.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { firstOf, laterThan, readClock } from '../database/sql.ts';
import { forgetResults } from '../idempotency-keys/stored-results.ts';
import { validateMonitorIds } from '../monitors/monitor-row.ts';
import { readOutcomes } from './read-outcomes.ts';
import {
  auditedWindow,
  currentOccurrence,
  findWindow,
  readCoveredIds,
  storedOccurrence,
  type StoredWindow,
  toMaintenanceWindow,
  versionOf,
  windowColumns,
} from './read-windows.ts';
import { requireOwnWindow } from './window-sources.ts';
import { maintenanceOccurrences, type MaintenanceWindowRow, maintenanceWindows } from './table.ts';

/** Fields to validate. Those that could not be parsed are missing. */
export interface WindowFields extends Partial<WindowSchedule>, Partial<WindowScope> {
  /** Further monitors of a new window. */
  readonly externalIds?: readonly string[];
}

export type NewWindow = WindowSchedule &
  WindowScope &
  Pick<MaintenanceWindowInput, 'name' | 'externalId' | 'source'> & {
    /** Selects only monitors of these sources. `*` at the end is a wildcard. Null for any. */
    readonly sources: string[] | null;
  };

type WindowScope = Readonly<Pick<MaintenanceWindowInput, 'monitorIds' | 'selector' | 'allMonitors'>>;

/** Returns errors in the schedule, and errors for monitors of other accounts. @param mayBePast allows a window that is over */
export async function validateWindow(
  db: Queryable,
  accountId: string,
  fields: WindowFields,
  mayBePast = false,
): Promise<FieldError[]> {
  const now = new Date(await readClock(db));
  const unknown = await validateMonitorIds(db, accountId, fields.monitorIds);
  return [...validateSchedule(fields, now, mayBePast), ...validateScope(fields), ...unknown];
}

function validateScope({ monitorIds, externalIds = [], selector, allMonitors }: WindowFields): FieldError[] {
  if (monitorIds?.length !== 0 || externalIds.length > 0 || selector !== null || allMonitors !== false)
    return [];
  return [
    {
      path: 'monitorIds',
      message: 'must contain at least one monitor, unless there is a selector or allMonitors is true',
    },
  ];
}

/** Writes a window that passes `validateWindow`. Requires the exclusive lock of the assignments. */
export async function insertWindow(
  tx: Transaction,
  { accountId }: Actor,
  { monitorIds, ...input }: NewWindow,
): Promise<MaintenanceWindow> {
  const now = new Date(await readClock(tx));
  const occurrence = nextOccurrence(input, now);
  const hasBegun = occurrence !== null && occurrence.startsAt <= now;
  const values = { accountId, ...input, ...toPlan(occurrence, hasBegun ? 'running' : 'scheduled') };
  const { id } = firstOf(await tx.insert(maintenanceWindows).values(values).returning());
  await listMonitorsOf(tx, accountId, 'window', id, monitorIds);
  await matchOwner(tx, accountId, 'window', id);
  await requireAssignmentQuota(tx, accountId);
  return toMaintenanceWindow(await findWindow(tx, accountId, id), now);
}

/**
 * Locks a window for a change. The maintenance clock skips it until the transaction ends.
 * @param versions the window must have one of these, see `versionOf`. Null accepts any
 * @throws AppError not_found, source_not_allowed, precondition_failed
 */
async function lockWindow(
  tx: Transaction,
  actor: Actor,
  id: string,
  versions: ReadonlySet<string> | null = null,
): Promise<StoredWindow> {
  const isThis = and(eq(maintenanceWindows.id, id), eq(maintenanceWindows.accountId, actor.accountId));
  const rows = await tx.select().from(maintenanceWindows).where(isThis).for('update');
  await requireOwnWindow(tx, actor, requireFound(rows, 'maintenance window'));
  const window = await findWindow(tx, actor.accountId, id);
  requireVersion('maintenance window', versionOf(window), versions);
  return window;
}

export function scheduleOf(window: WindowSchedule): WindowSchedule {
  return pick(window, ['startsAt', 'endsAt', 'rrule', 'timeZone']);
}

/**
 * Changes the given fields of a window. A running occurrence continues with its new end, or is cut short if the new schedule has none now.
 * @throws AppError as `lockWindow`, validation_failed if the merged window breaks a rule, conflict if the externalId is taken, quota_exceeded
 */
export async function updateMaintenanceWindow(
  { db, quotas }: Pick<WriteContext, 'db' | 'quotas'>,
  actor: Actor,
  id: string,
  update: MaintenanceWindowUpdate,
  versions: ReadonlySet<string> | null = null,
): Promise<MaintenanceWindow> {
  const { accountId } = actor;
  const work = async (tx: Transaction): Promise<MaintenanceWindow> => {
    await lockAssignments(tx, accountId, 'exclusive');
    const before = await lockWindow(tx, actor, id, versions);
    const merged = merge(pick(before, updateMaintenanceWindowSchema.keyof().options), update);
    const wanted = { ...merged, monitorIds: merged.monitorIds.toSorted() };
    const schedule = scheduleOf(wanted);
    const scope = pick(wanted, ['monitorIds', 'selector', 'allMonitors']);
    const rescheduled = changedFields(before, schedule).length > 0;
    // An end in the past is allowed for an occurrence that has begun, which then ends at once.
    const now = new Date(await readClock(tx));
    const mayBePast = !rescheduled || currentOccurrence(before, now) !== null;
    const reassigned = changedFields(before, scope).length > 0;
    const fields = { ...schedule, ...((reassigned || update.monitorIds !== undefined) && scope) };
    const errors = await validateWindow(tx, accountId, fields, mayBePast);
    if (errors.length > 0) {
      throw new AppError('validation_failed', 'The window would break a rule after this update.', { errors });
    }
    if (changedFields(before, wanted).length === 0) return toMaintenanceWindow(before, now);

    // The outcome of an occurrence depends on the window's monitors, so it is read before they change.
    const plan = rescheduled ? await replan(tx, before, schedule) : {};
    const { monitorIds, ...columns } = wanted;
    if (reassigned) await listMonitorsOf(tx, accountId, 'window', id, monitorIds);
    const after = await writeWindow(tx, id, { ...columns, ...plan });
    await requireOwnWindow(tx, actor, after);
    // An ended window has no matches.
    await matchOwner(tx, accountId, 'window', id);
    const isPlannedAgain = before.state === 'ended' && after.state !== 'ended';
    if (reassigned || isPlannedAgain) await requireAssignmentQuota(tx, accountId, isPlannedAgain);
    const records = recordOf('maintenanceWindow', auditedWindow(before), auditedWindow(after));
    await recordAudit(tx, actor, records);
    await requireQuotas(tx, accountId, { quotas }, { maintenanceWindows: isPlannedAgain ? 1 : 0 });
    return toMaintenanceWindow(after, now);
  };
  return db.transaction(work).catch(rethrowConflict(db, accountId, update.externalId));
}

/** A window, with the monitors whose maintenance it begins or ends now, for `settleMaintenance`. */
export interface ChangedWindow {
  readonly maintenanceWindow: MaintenanceWindow;
  readonly coveredIds: readonly string[];
}

/** Ends the running occurrence of a window, if there is one. @throws AppError not_found, source_not_allowed */
export async function endMaintenance(db: Database, actor: Actor, id: string): Promise<ChangedWindow> {
  return db.transaction(async (tx) => {
    const before = await lockWindow(tx, actor, id);
    const now = new Date(await readClock(tx));
    const current = currentOccurrence(before, now);
    if (current === null) return { maintenanceWindow: toMaintenanceWindow(before, now), coveredIds: [] };
    const schedule = endOccurrence(scheduleOf(before), current, now);
    const plan = await replan(tx, before, schedule);
    const after = await writeWindow(tx, id, { ...schedule, ...plan });
    const coveredIds = await readCoveredIds(tx, id);
    if (after.state === 'ended') await deleteWindowMatches(tx, [id]);
    const changes = changesOf(auditedWindow(before), auditedWindow(after));
    const target = { type: 'maintenanceWindow', id, name: before.name } as const;
    await recordAudit(tx, actor, [{ action: 'maintenanceWindow.ended', target, changes }]);
    return { maintenanceWindow: toMaintenanceWindow(after, now), coveredIds };
  });
}

/** Deletes a window. @returns the monitors that it silenced until now @throws AppError not_found, source_not_allowed, precondition_failed */
export async function deleteMaintenanceWindow(
  db: Database,
  actor: Actor,
  id: string,
  versions: ReadonlySet<string> | null = null,
): Promise<string[]> {
  const { accountId } = actor;
  return db.transaction(async (tx) => {
    await lockAssignments(tx, accountId, 'exclusive');
    const window = await lockWindow(tx, actor, id, versions);
    const stored = storedOccurrence(window);
    const hasBegun = stored !== null && stored.startsAt.getTime() <= (await readClock(tx));
    const coveredIds = hasBegun ? await readCoveredIds(tx, id) : [];
    await forgetResults(tx, [id]);
    await tx.delete(maintenanceWindows).where(eq(maintenanceWindows.id, id));
    await recordAudit(tx, actor, recordOf('maintenanceWindow', auditedWindow(window), null));
    return coveredIds;
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

/** Plans the occurrence that a new schedule has now or next. Records an occurrence that has begun and does not continue. */
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

async function writeWindow(
  tx: Transaction,
  id: string,
  columns: Partial<MaintenanceWindowRow>,
): Promise<StoredWindow> {
  const values = { ...columns, updatedAt: laterThan(maintenanceWindows.updatedAt) };
  const isThis = eq(maintenanceWindows.id, id);
  return firstOf(await tx.update(maintenanceWindows).set(values).where(isThis).returning(windowColumns));
}
