import { setImmediate as turn } from 'node:timers/promises';
import { AppError } from '@tocsin/contracts/errors';
import type {
  ListedMaintenanceWindow,
  MaintenanceWindow,
  MaintenanceWindowPreview,
  MaintenanceWindowsQuery,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { firstOverlap, previewOccurrences } from '@tocsin/core/maintenance/occurrences';
import type { Occurrence, WindowSchedule } from '@tocsin/core/maintenance/occurrences';
import { and, count, desc, eq, inArray, ne, sql, type SQL } from 'drizzle-orm';
import { unknownCursor } from '../database/errors.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { readDatabaseClock } from '../database/sql.ts';
import { maintenanceWindowMonitors, type MaintenanceWindowRow, maintenanceWindows } from './table.ts';

/** How many occurrences to come a record shows. */
const UPCOMING = 5;

/** The monitors of each of these windows, by window, ordered by id. */
export async function readMonitorIds(
  db: Queryable,
  windowIds: readonly string[],
): Promise<Map<string, string[]>> {
  const byWindow = new Map<string, string[]>(windowIds.map((id) => [id, []]));
  if (windowIds.length === 0) return byWindow;
  const [only] = windowIds;
  const rows = await db
    .select()
    .from(maintenanceWindowMonitors)
    .where(
      windowIds.length === 1 && only !== undefined
        ? eq(maintenanceWindowMonitors.windowId, only)
        : inArray(maintenanceWindowMonitors.windowId, [...windowIds]),
    )
    .orderBy(maintenanceWindowMonitors.monitorId);
  for (const { windowId, monitorId } of rows) byWindow.get(windowId)?.push(monitorId);
  return byWindow;
}

/** The occurrence that the row holds: the one that runs, or comes next. */
export function storedOccurrence(row: MaintenanceWindowRow): Occurrence | null {
  const { occurrenceStartsAt: startsAt, occurrenceEndsAt: endsAt } = row;
  return startsAt && endsAt ? { startsAt, endsAt } : null;
}

/** The occurrence that has begun and is not over by these times, whether or not the clock has looked at it; null: none. */
export function currentOccurrence(row: MaintenanceWindowRow, now: Date): Occurrence | null {
  const stored = storedOccurrence(row);
  return stored !== null && stored.startsAt <= now && now < stored.endsAt ? stored : null;
}

/** The wire record of a window with its next occurrences, which evaluates its rule (design §3 "Dashboard API"). */
export function toMaintenanceWindow(
  row: MaintenanceWindowRow,
  monitorIds: readonly string[],
): MaintenanceWindow {
  const upcoming = upcomingOf(row).map(toWire);
  return { ...toListedWindow(row, monitorIds), nextOccurrence: upcoming[0] ?? null, upcoming };
}

/** The wire record of a window in a list: what its row holds. */
function toListedWindow(row: MaintenanceWindowRow, monitorIds: readonly string[]): ListedMaintenanceWindow {
  const stored = storedOccurrence(row);
  const occurrence = stored && toWire(stored);
  return {
    id: row.id,
    name: row.name,
    startsAt: row.startsAt.toISOString(),
    endsAt: row.endsAt.toISOString(),
    monitorIds: [...monitorIds],
    rrule: row.rrule,
    timeZone: row.timeZone,
    state: row.state,
    currentOccurrence: row.state === 'running' ? occurrence : null,
    nextOccurrence: row.state === 'running' ? null : occurrence,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

function upcomingOf(row: MaintenanceWindowRow): readonly Occurrence[] {
  const stored = storedOccurrence(row);
  if (stored === null) return [];
  // What ends after the stored one has begun is the one before it (where they overlap), itself, and all that follow.
  return previewOccurrences(row, UPCOMING + 2, stored.startsAt)
    .filter(({ startsAt }) => startsAt >= stored.startsAt)
    .slice(row.state === 'running' ? 1 : 0)
    .slice(0, UPCOMING);
}

function toWire({ startsAt, endsAt }: Occurrence): { startsAt: string; endsAt: string } {
  return { startsAt: startsAt.toISOString(), endsAt: endsAt.toISOString() };
}

/** An error that says the same for an unknown window and for another account's. */
export function maintenanceWindowNotFound(): AppError {
  return new AppError('not_found', 'There is no maintenance window with this id.');
}

/** The account's window with this id. @throws AppError not_found */
export async function findWindowRow(
  db: Queryable,
  accountId: string,
  id: string,
): Promise<MaintenanceWindowRow> {
  const [row] = await db
    .select()
    .from(maintenanceWindows)
    .where(and(eq(maintenanceWindows.id, id), eq(maintenanceWindows.accountId, accountId)));
  if (!row) throw maintenanceWindowNotFound();
  return row;
}

/** The same, locked until the transaction ends: the clock leaves it alone meanwhile. */
export async function lockWindowRow(
  tx: Transaction,
  accountId: string,
  id: string,
): Promise<MaintenanceWindowRow> {
  const [row] = await tx
    .select()
    .from(maintenanceWindows)
    .where(and(eq(maintenanceWindows.id, id), eq(maintenanceWindows.accountId, accountId)))
    .for('update');
  if (!row) throw maintenanceWindowNotFound();
  return row;
}

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

/** How many windows run now. */
export async function countRunningWindows(db: Database): Promise<number> {
  return db.$count(maintenanceWindows, eq(maintenanceWindows.state, 'running'));
}

/** Beyond so many windows with monitors in common, the others are not compared. */
const MAX_COMPARED = 50;

/**
 * The next occurrences of a window that may not exist yet, and the account's other windows that run on the same monitors during one of
 * them. The schedule must be valid.
 */
export async function previewWindow(
  db: Database,
  accountId: string,
  schedule: WindowSchedule,
  monitorIds: readonly string[],
  ownId: string | null,
): Promise<MaintenanceWindowPreview> {
  const occurrences = previewOccurrences(schedule, UPCOMING, await readDatabaseClock(db));
  const others = await db
    .select({ window: maintenanceWindows, monitorCount: count() })
    .from(maintenanceWindows)
    .innerJoin(maintenanceWindowMonitors, eq(maintenanceWindowMonitors.windowId, maintenanceWindows.id))
    .where(
      and(
        eq(maintenanceWindows.accountId, accountId),
        ne(maintenanceWindows.state, 'ended'),
        ownId === null ? undefined : ne(maintenanceWindows.id, ownId),
        inArray(maintenanceWindowMonitors.monitorId, [...monitorIds]),
      ),
    )
    .groupBy(maintenanceWindows.id)
    .orderBy(desc(maintenanceWindows.id))
    .limit(MAX_COMPARED);
  const overlaps: MaintenanceWindowPreview['overlaps'] = [];
  for (const { window, monitorCount } of others) {
    const startsAt = firstOverlap(occurrences, window);
    const { id: maintenanceWindowId, name } = window;
    if (startsAt !== null) {
      overlaps.push({ maintenanceWindowId, name, startsAt: startsAt.toISOString(), monitorCount });
    }
    // Rules take time to evaluate: other requests get their turn.
    await turn();
  }
  return { occurrences: occurrences.map(toWire), overlaps };
}
