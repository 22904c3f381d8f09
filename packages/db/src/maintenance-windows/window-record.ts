import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { previewOccurrences, type Occurrence } from '@tocsin/core/maintenance/occurrences';
import { eq, inArray } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { maintenanceWindowMonitors, type MaintenanceWindowRow } from './table.ts';

/** How many occurrences to come a record shows. */
const UPCOMING = 5;
const MOST_REMEMBERED = 2_000;

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

/** The wire record of a window (design §3 "Dashboard API"). */
export function toMaintenanceWindow(
  row: MaintenanceWindowRow,
  monitorIds: readonly string[],
): MaintenanceWindow {
  const stored = storedOccurrence(row);
  const current = row.state === 'running' ? stored : null;
  const upcoming = upcomingOf(row, current, stored).map(toWire);
  return {
    id: row.id,
    name: row.name,
    startsAt: row.startsAt.toISOString(),
    endsAt: row.endsAt.toISOString(),
    monitorIds: [...monitorIds],
    rrule: row.rrule,
    timeZone: row.timeZone,
    state: row.state,
    currentOccurrence: current && toWire(current),
    nextOccurrence: upcoming[0] ?? null,
    upcoming,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** What was found of schedules, by schedule and first occurrence: a pure function's results, which cost milliseconds each. */
const remembered = new Map<string, readonly Occurrence[]>();

function upcomingOf(
  row: MaintenanceWindowRow,
  current: Occurrence | null,
  stored: Occurrence | null,
): readonly Occurrence[] {
  if (stored === null) return [];
  const key = [row.startsAt, row.endsAt, stored.startsAt].map(Number).join() + row.timeZone + row.rrule;
  const known = remembered.get(key) ?? previewOccurrences(row, UPCOMING + 2, stored.startsAt);
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  remembered.set(key, known);
  // What ends after the stored one has begun is the one before it (where they overlap), itself, and all that follow.
  const from = known.filter(({ startsAt }) => startsAt >= stored.startsAt);
  return from.slice(current === null ? 0 : 1).slice(0, UPCOMING);
}

function toWire({ startsAt, endsAt }: Occurrence): { startsAt: string; endsAt: string } {
  return { startsAt: startsAt.toISOString(), endsAt: endsAt.toISOString() };
}
