import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type ListedMaintenanceWindow,
  type MaintenanceWindow,
  type MaintenanceWindowInput,
  type MaintenanceWindowPreview,
  type MaintenanceWindowsQuery,
  updateMaintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { upcomingClockChanges } from '@tocsin/core/maintenance/clock-changes';
import {
  firstOverlap,
  type Occurrence,
  previewOccurrences,
  type WindowSchedule,
} from '@tocsin/core/maintenance/occurrences';
import { isCounted } from '@tocsin/core/maintenance/rrule-text';
import { and, count, desc, eq, getTableColumns, ne, sql } from 'drizzle-orm';
import { selectsAll } from '../assignments/assignments.ts';
import { findMatching } from '../assignments/match-selectors.ts';
import { requireFound } from '../database/errors.ts';
import { pick } from '../database/fields.ts';
import type { Database, Queryable } from '../database/open.ts';
import { pageAfter } from '../database/page.ts';
import { arrayOf, queryColumn, readClock, toWire } from '../database/sql.ts';
import { maintenanceWindowMonitors, type MaintenanceWindowRow, maintenanceWindows } from './table.ts';

const UPCOMING = 5;

export const windowColumns = {
  ...getTableColumns(maintenanceWindows),
  /** Listed monitors, ordered by id. */
  monitorIds: sql<string[]>`array(select m.monitor_id::text from maintenance_window_monitors m
    where m.window_id = ${maintenanceWindows}.id and m.listed order by m.monitor_id)`,
};

export interface StoredWindow extends MaintenanceWindowRow {
  readonly monitorIds: string[];
}

/** Finds a window of the account by its id or externalId. @throws AppError not_found */
export async function findWindow(
  db: Queryable,
  accountId: string,
  key: string,
  by: 'id' | 'externalId' = 'id',
): Promise<StoredWindow> {
  const isThis = and(eq(maintenanceWindows[by], key), eq(maintenanceWindows.accountId, accountId));
  const rows = await db.select(windowColumns).from(maintenanceWindows).where(isThis);
  return requireFound(rows, 'maintenance window', by);
}

/** Reads the monitors that a window covers while it runs, ordered by id. */
export async function readCoveredIds(db: Queryable, windowId: string): Promise<string[]> {
  return queryColumn(db)`
    select monitor_id from maintenance_window_monitors where window_id = ${windowId}
    union
    select m.id from maintenance_windows w join monitors m on m.account_id = w.account_id
    where w.id = ${windowId} and ${selectsAll('window', 'w')}
    order by monitor_id`;
}

/** Returns the running or the next occurrence. */
export function storedOccurrence(row: MaintenanceWindowRow): Occurrence | null {
  const { occurrenceStartsAt: startsAt, occurrenceEndsAt: endsAt } = row;
  return startsAt && endsAt ? { startsAt, endsAt } : null;
}

/** Returns the occurrence that is running by its times, because the maintenance clock may be late. */
export function currentOccurrence(row: MaintenanceWindowRow, now: Date): Occurrence | null {
  const stored = storedOccurrence(row);
  return stored !== null && stored.startsAt <= now && now < stored.endsAt ? stored : null;
}

/** Returns the wire record of a window with its next occurrences. Evaluates its rule. */
export function toMaintenanceWindow(row: StoredWindow, now: Date): MaintenanceWindow {
  const stored = storedOccurrence(row);
  // Lists occurrences that end after the stored one begins. They are the previous one if they overlap, the stored one, and all later ones.
  const following = stored === null ? [] : previewOccurrences(row, UPCOMING + 2, stored.startsAt);
  const upcoming = following
    .filter(({ startsAt }) => stored !== null && startsAt >= stored.startsAt)
    .slice(row.state === 'running' ? 1 : 0)
    .slice(0, UPCOMING)
    .map(toWire);
  const clockChanges = stored === null ? [] : upcomingClockChanges(row, now);
  return { ...toWireWindow(row), nextOccurrence: upcoming[0] ?? null, clockChanges, upcoming };
}

const AUDITED = ['id', 'sources', ...updateMaintenanceWindowSchema.keyof().options] as const;
type AuditedFields = Pick<StoredWindow | MaintenanceWindow, (typeof AUDITED)[number]>;

/** Picks the fields that users can change. */
export function auditedWindow(window: AuditedFields): AuditedFields {
  return pick(window, AUDITED);
}

/** Returns the version of what users can change. It stays the same when an occurrence begins or ends. */
export function versionOf(window: AuditedFields): string {
  return createHash('sha256')
    .update(JSON.stringify(auditedWindow(window)))
    .digest('base64url')
    .slice(0, 16);
}

/** Returns what a list shows of a window without evaluating its rule. */
function toWireWindow(row: StoredWindow): Omit<ListedWindow, 'clockChanges'> {
  const { accountId: _, occurrenceStartsAt: _start, occurrenceEndsAt: _end, ...window } = row;
  const stored = storedOccurrence(row);
  const occurrence = stored && toWire(stored);
  const isRunning = row.state === 'running';
  return {
    ...toWire(window),
    currentOccurrence: isRunning ? occurrence : null,
    nextOccurrence: isRunning ? null : occurrence,
  };
}

/** @throws as `findWindow` */
export async function getMaintenanceWindow(
  ...[db, ...key]: Parameters<typeof findWindow>
): Promise<MaintenanceWindow> {
  return toMaintenanceWindow(await findWindow(db, ...key), new Date(await readClock(db)));
}

type ListedWindow = Omit<ListedMaintenanceWindow, 'etag'>;

/** Lists the account's windows, newest first, a page after the window `before`. @throws AppError validation_failed if it is not one of the account */
export async function listMaintenanceWindows(
  db: Database,
  accountId: string,
  { limit, before, source }: MaintenanceWindowsQuery,
): Promise<ListedWindow[]> {
  const { id, createdAt: time } = maintenanceWindows;
  const isOfSource = source === undefined ? undefined : eq(maintenanceWindows.source, source);
  const scope = eq(maintenanceWindows.accountId, accountId);
  const message = 'is not a maintenance window of this account';
  const rows = await db
    .select(windowColumns)
    .from(maintenanceWindows)
    .where(
      and(
        scope,
        isOfSource,
        await pageAfter(db, { table: maintenanceWindows, time, id, scope, message }, before),
      ),
    )
    .orderBy(desc(time), desc(id))
    .limit(limit);
  const now = new Date(await readClock(db));
  const listed: ListedWindow[] = [];
  for (const row of rows) {
    const clockChanges = listedClockChanges(row, now);
    listed.push({ ...toWireWindow(row), clockChanges });
    if (clockChanges.length > 0) await nextTurn();
  }
  return listed;
}

/** Returns nothing for a costly rule, because a list has many, or for a rule that can no longer be evaluated. */
function listedClockChanges(row: MaintenanceWindowRow, now: Date): ListedMaintenanceWindow['clockChanges'] {
  if (row.state === 'ended' || row.rrule === null || isCounted(row.rrule)) return [];
  try {
    return upcomingClockChanges(row, now);
  } catch {
    return [];
  }
}

export async function countRunningWindows(db: Database): Promise<number> {
  return db.$count(maintenanceWindows, eq(maintenanceWindows.state, 'running'));
}

/** Lists the monitors that a window with this scope covers. The list may contain ids that do not exist. An edited window keeps its sources. */
async function findCovered(
  db: Database,
  accountId: string,
  { monitorIds, selector, allMonitors }: Parameters<typeof previewWindow>[3],
  ownId: string | null,
): Promise<readonly string[]> {
  const all = allMonitors ? {} : selector;
  if (all === null) return monitorIds;
  const isOwn = and(eq(maintenanceWindows.accountId, accountId), eq(maintenanceWindows.id, ownId ?? ''));
  const [own] = ownId === null ? [] : await db.select().from(maintenanceWindows).where(isOwn);
  const matching = await findMatching(db, accountId, { selector: all, sources: own?.sources ?? null });
  return [...new Set([...monitorIds, ...matching])];
}

const MAX_COMPARED = 50;

/** Returns the next occurrences of a valid schedule, and other windows that overlap on the same monitors. @param ownId the edited window, or null */
export async function previewWindow(
  db: Database,
  accountId: string,
  schedule: WindowSchedule,
  scope: Pick<MaintenanceWindowInput, 'monitorIds' | 'selector' | 'allMonitors'>,
  ownId: string | null,
): Promise<MaintenanceWindowPreview> {
  const now = new Date(await readClock(db));
  const occurrences = previewOccurrences(schedule, UPCOMING, now);
  const isActive = and(eq(maintenanceWindows.accountId, accountId), ne(maintenanceWindows.state, 'ended'));
  const isOther = ownId === null ? undefined : ne(maintenanceWindows.id, ownId);
  const coveredIds = arrayOf('uuid', await findCovered(db, accountId, scope, ownId));
  const { windowId, monitorId } = maintenanceWindowMonitors;
  const isShared = and(eq(windowId, maintenanceWindows.id), sql`${monitorId} = any(${coveredIds})`);
  const monitorCount = sql<number>`case when ${selectsAll('window', 'maintenance_windows')}
    then (select count(*) from monitors m where m.account_id = ${accountId} and m.id = any(${coveredIds}))
    else ${count(monitorId)} end::int`;
  const others = await db
    .select({ window: maintenanceWindows, monitorCount })
    .from(maintenanceWindows)
    .leftJoin(maintenanceWindowMonitors, isShared)
    .where(and(isActive, isOther))
    .groupBy(maintenanceWindows.id)
    .having(sql`${monitorCount} > 0`)
    .orderBy(desc(maintenanceWindows.id))
    .limit(MAX_COMPARED);
  const overlaps: MaintenanceWindowPreview['overlaps'] = [];
  for (const { window, monitorCount } of others) {
    const startsAt = firstOverlap(occurrences, window);
    const { id: maintenanceWindowId, name } = window;
    if (startsAt !== null) {
      overlaps.push({ maintenanceWindowId, name, startsAt: startsAt.toISOString(), monitorCount });
    }
    // Rules take time to evaluate, so other requests get their turn.
    await nextTurn();
  }
  return {
    occurrences: occurrences.map(toWire),
    clockChanges: upcomingClockChanges(schedule, now),
    overlaps,
  };
}
