import { readRollupState } from '../check-rollups/roll-up.ts';
import type { Database, Queryable } from '../database/open.ts';
import { dropPartitionsBefore, ensurePartitions } from '../database/partitions.ts';
import { readClock } from '../database/sql.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const DAYS_AHEAD = 7;

/**
 * Makes the missing partitions from yesterday to a week ahead.
 * @param now Postgres' clock, epoch milliseconds, from which events get their timestamps; default: read it
 */
export async function ensureEventPartitions(db: Queryable, now?: number): Promise<void> {
  const yesterday = (now ?? (await readClock(db))) - DAY_MS;
  const days = Array.from({ length: DAYS_AHEAD + 2 }, (_, index) => yesterday + index * DAY_MS);
  await ensurePartitions(
    db,
    'events',
    days.map((start) => ({ start, end: start + DAY_MS })),
  );
}

/**
 * Drops the day partitions whose events are all older than the retention and rolled up. Rolling up the first hour of the next day needs
 * the last minutes of a day too.
 * @param now Postgres' clock, epoch milliseconds: it stamped the events
 * @returns the names of the dropped partitions
 */
export async function dropExpiredEventPartitions(
  db: Database,
  retentionDays: number,
  now: number,
): Promise<string[]> {
  const state = await readRollupState(db);
  if (state === null) return [];
  return dropPartitionsBefore(
    db,
    'events',
    Math.min(now - retentionDays * DAY_MS, state.rolledUntil.getTime() - HOUR_MS),
  );
}
