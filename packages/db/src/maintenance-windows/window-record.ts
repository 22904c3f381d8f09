import type { ListedMaintenanceWindow, MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { previewOccurrences, type Occurrence } from '@tocsin/core/maintenance/occurrences';
import { eq, inArray } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { maintenanceWindowMonitors, type MaintenanceWindowRow } from './table.ts';

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
export function toListedWindow(
  row: MaintenanceWindowRow,
  monitorIds: readonly string[],
): ListedMaintenanceWindow {
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
