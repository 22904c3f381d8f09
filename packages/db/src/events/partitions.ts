import { MAX_LATENESS_MS } from '@tocsin/core/schedule/slots';
import { readRollupState } from '../check-rollups/roll-up.ts';
import type { Database, Queryable } from '../database/open.ts';
import { dropPartitionsBefore, ensurePartitions } from '../database/partitions.ts';
import { readClock } from '../database/sql.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Partitions are created this far ahead. A week of short partitions would be too many, so they cover a few hours. */
const AHEAD = { periods: 7, ms: 3 * HOUR_MS };

export interface EventPartitionOptions {
  /** Length of a partition, a divisor of a day. Defaults to a day. */
  readonly minutes?: number | undefined;
  /** PostgreSQL's clock in epoch milliseconds, which is read by default. */
  readonly now?: number | undefined;
}

/** Creates missing partitions from the previous period to a week, or at least some hours, ahead. */
export async function ensureEventPartitions(
  db: Queryable,
  { minutes = DAY_MS / MINUTE_MS, now }: EventPartitionOptions = {},
): Promise<void> {
  const length = minutes * MINUTE_MS;
  const current = Math.floor((now ?? (await readClock(db))) / length) * length;
  const count = Math.max(AHEAD.periods, Math.ceil(AHEAD.ms / length)) + 2;
  const periods = Array.from({ length: count }, (_, index) => {
    return { start: current + (index - 1) * length, end: current + index * length };
  });
  await ensurePartitions(db, 'events', periods);
}

/** Returns the time before which no roll-up needs events. A roll-up also needs the minutes after its hour. Null before the first roll-up. */
export async function settledUntil(db: Queryable): Promise<number | null> {
  const state = await readRollupState(db);
  return state && state.rolledUntil.getTime() - MAX_LATENESS_MS;
}

/** Drops the partitions whose events, raw or packed, are all older than the retention and rolled up. @param now PostgreSQL's clock @returns their names */
export async function dropExpiredEventPartitions(
  db: Database,
  retentionDays: number,
  now: number,
): Promise<string[]> {
  const settled = await settledUntil(db);
  if (settled === null) return [];
  const until = Math.min(now - retentionDays * DAY_MS, settled);
  return [
    ...(await dropPartitionsBefore(db, 'events', until)),
    ...(await dropPartitionsBefore(db, 'event_blocks', until)),
  ];
}
