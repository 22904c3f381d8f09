import { sql } from 'drizzle-orm';
import { deleteInBatches } from '../database/delete-expired.ts';
import type { Database } from '../database/open.ts';
import { timestamptz } from '../database/sql.ts';
import { dropPartitionsBefore, ensurePartitions } from '../database/partitions.ts';

/** How long rollups are kept, in months. */
const ROLLUP_RETENTION_MONTHS = 13;

/** The start of an instant's month in UTC, or of the month `later` months after it. */
function monthOf(time: number, later = 0) {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later);
}

/** The first instant whose rollups are kept: partitions are dropped by whole months. @param now Postgres' clock */
export function oldestRollup(now: number): number {
  return monthOf(now, -ROLLUP_RETENTION_MONTHS);
}

/** Makes the partition for the rollups of an hour. */
export async function ensureRollupPartition(db: Database, hour: Date): Promise<void> {
  const start = monthOf(hour.getTime());
  await ensurePartitions(db, 'check_rollups', [{ start, end: monthOf(start, 1) }]);
}

/**
 * Drops what is older than 13 months: partitions of rollups, and the spans and silences that ended before.
 * @param now Postgres' clock, epoch milliseconds
 * @returns the names of the dropped partitions
 */
export async function dropExpiredRollups(db: Database, now: number, signal?: AbortSignal): Promise<string[]> {
  const oldest = oldestRollup(now);
  const expired = await dropPartitionsBefore(db, 'check_rollups', oldest);
  for (const table of ['schedule_spans', 'silences'])
    await deleteInBatches(db, table, sql`ends_at < ${timestamptz(oldest)}`, signal);
  return expired;
}
