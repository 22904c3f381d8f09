import { STATS_WINDOWS } from '@tocsin/contracts/monitors/stats';
import type { MonitorStats, StatsWindow } from '@tocsin/contracts/monitors/stats';
import { addCounts, averageTimings, figuresOf } from '@tocsin/core/stats/check-counts';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { clockNow, epochMs, queryOne } from '../database/sql.ts';
import { findMonitorRow } from '../monitors/monitor-row.ts';
import { type BucketCounts, readCounts } from './count-checks.ts';

const HOUR_MS = 3_600_000;

/** A monitor's statistics, from one snapshot, in which rollups and events do not overlap. @throws AppError not_found */
export async function getMonitorStats(
  db: Database,
  accountId: string,
  id: string,
  window: StatsWindow,
): Promise<MonitorStats> {
  return db.transaction(
    async (tx) => {
      await findMonitorRow(tx, accountId, id);
      const { now, rolledUntil } = await queryOne(tx, clockRow)`
        select ${epochMs(clockNow)} as now, (select ${epochMs(sql`rolled_until`)} from check_rollup_state) as rolled_until`;
      const { buckets, bucketHours } = STATS_WINDOWS[window];
      const bucketMs = bucketHours * HOUR_MS;
      const from = (Math.floor(now / bucketMs) - buckets + 1) * bucketMs;
      const counts = await readCounts(tx, {
        monitorId: id,
        from,
        to: (Math.floor(now / HOUR_MS) + 1) * HOUR_MS,
        bucketHours,
        rolledUntil: rolledUntil ?? from,
        now,
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

const clockRow = z.object({ now: z.number(), rolledUntil: z.number().nullable() });

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
