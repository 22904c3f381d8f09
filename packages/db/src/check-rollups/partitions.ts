import { sql } from 'drizzle-orm';
import { deleteInBatches } from '../database/delete-expired.ts';
import type { Database } from '../database/open.ts';
import { timestamptz } from '../database/sql.ts';
import { dropPartitionsBefore, ensurePartitions } from '../database/partitions.ts';

const ROLLUP_RETENTION_MONTHS = 13;

/** Returns the start of an instant's month in UTC, or of the month `later` months after it. */
function monthOf(time: number, later = 0) {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later);
}

/** Returns the first instant whose rollups are kept, because partitions are dropped by whole months. @param now PostgreSQL's clock */
export function oldestRollup(now: number): number {
  return monthOf(now, -ROLLUP_RETENTION_MONTHS);
}

export async function ensureRollupPartition(db: Database, hour: Date): Promise<void> {
  const start = monthOf(hour.getTime());
  for (const table of ['check_rollups', 'check_days'] as const)
    await ensurePartitions(db, table, [{ start, end: monthOf(start, 1) }]);
}

/** Drops rollup partitions, spans and silences that ended more than 13 months ago. @returns the names of the dropped partitions */
export async function dropExpiredRollups(db: Database, now: number, signal?: AbortSignal): Promise<string[]> {
  const oldest = oldestRollup(now);
  const expired = [
    ...(await dropPartitionsBefore(db, 'check_rollups', oldest)),
    ...(await dropPartitionsBefore(db, 'check_days', oldest)),
  ];
  for (const table of ['schedule_spans', 'silences'])
    await deleteInBatches(db, table, sql`ends_at < ${timestamptz(oldest)}`, signal);
  return expired;
}
