import { STATS_WINDOWS } from '@tocsin/contracts/monitors/stats';
import type { MonitorStats, StatsWindow } from '@tocsin/contracts/monitors/stats';
import { addCounts, averageTimings, figuresOf } from '@tocsin/core/stats/check-counts';
import { sql } from 'drizzle-orm';
import type { Database, Transaction } from '../database/open.ts';
import { clockNow } from '../database/sql.ts';
import { findMonitorRow } from '../monitors/monitor-row.ts';
import { type BucketCounts, readCounts } from './count-checks.ts';

const HOUR_MS = 3_600_000;

/**
 * A monitor's statistics, from one snapshot: what is rolled up and what is not yet never overlap.
 * @throws AppError not_found
 */
export async function getMonitorStats(
  db: Database,
  accountId: string,
  id: string,
  window: StatsWindow,
): Promise<MonitorStats> {
  return db.transaction(
    async (tx) => {
      await findMonitorRow(tx, accountId, id);
      const { now, rolledUntil } = await readClock(tx);
      const { buckets, bucketHours } = STATS_WINDOWS[window];
      const bucketMs = bucketHours * HOUR_MS;
      const from = (Math.floor(now / bucketMs) - buckets + 1) * bucketMs;
      const counts = await readCounts(tx, {
        monitorId: id,
        from: new Date(from),
        to: new Date((Math.floor(now / HOUR_MS) + 1) * HOUR_MS),
        bucketHours,
        rolledUntil: new Date(rolledUntil ?? from),
        now: new Date(now),
      });
      const starts = Array.from({ length: buckets }, (_, index) => from + index * bucketMs);
      return {
        window,
        from: new Date(from).toISOString(),
        to: new Date(now).toISOString(),
        ...figuresOf(addCounts(counts)),
        regions: byRegion(counts),
        series: toSeries(counts, starts),
      };
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  );
}

async function readClock(tx: Transaction): Promise<{ now: number; rolledUntil: number | null }> {
  const { rows } = await tx.execute<{ now: number; rolled_until: number | null }>(sql`
    select (extract(epoch from ${clockNow}) * 1000)::float8 as now,
      (select (extract(epoch from rolled_until) * 1000)::float8 from check_rollup_state) as rolled_until`);
  const [row] = rows;
  if (!row) throw new Error('the clock was not read');
  return { now: row.now, rolledUntil: row.rolled_until };
}

function byRegion(counts: readonly BucketCounts[]): MonitorStats['regions'] {
  const regions = [...new Set(counts.map(({ region }) => region))].toSorted();
  return regions.map((region) => {
    const own = addCounts(counts.filter((one) => one.region === region));
    return Object.assign({ region }, figuresOf(own));
  });
}

function toSeries(counts: readonly BucketCounts[], starts: readonly number[]): MonitorStats['series'] {
  return starts.map((start) => {
    const bucket = addCounts(counts.filter((one) => one.start === start));
    return {
      start: new Date(start).toISOString(),
      ...figuresOf(bucket),
      timings: averageTimings(bucket),
    };
  });
}
