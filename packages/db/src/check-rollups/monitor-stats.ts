import { AppError } from '@tocsin/contracts/errors';
import type { MonitorStats, PeriodQuery } from '@tocsin/contracts/monitors/stats';
import { uptimeOf } from '@tocsin/core/stats/availability';
import { addCounts, averageTimings, figuresOf } from '@tocsin/core/stats/check-counts';
import { type Period, resolvePeriod } from '@tocsin/core/stats/periods';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Database, readSnapshot } from '../database/open.ts';
import { clockNow, epochMs, firstOf, queryOne } from '../database/sql.ts';
import { holdPartitions } from '../events/pack-events.ts';
import { listMonitorRegions } from '../monitor-regions/read-regions.ts';
import { findMonitorRow } from '../monitors/monitor-row.ts';
import { measureMonitors } from '../reports/monitor-histories.ts';
import { type BucketCounts, readCounts } from './count-checks.ts';

const HOUR_MS = 3_600_000;

export interface PeriodRequest {
  readonly query: PeriodQuery;
  /** Retention of events and status changes. */
  readonly retentionDays: number;
}

/** Reads a monitor's statistics from one snapshot, in which rollups and events do not overlap. @throws AppError not_found, validation_failed */
export async function getMonitorStats(
  db: Database,
  accountId: string,
  id: string,
  request: PeriodRequest,
): Promise<MonitorStats> {
  return readSnapshot(db, async (tx) => {
    await holdPartitions(tx);
    const monitor = await findMonitorRow(tx, accountId, id);
    const { now, rolledUntil } = await queryOne(tx, clockRow)`
      select ${epochMs(clockNow)} as now, (select ${epochMs(sql`rolled_until`)} from check_rollup_state) as rolled_until`;
    const period = requirePeriod(request, now);
    const { window, to, bucketMs, starts } = period;
    const { times } = firstOf(await measureMonitors(tx, [monitor], { from: period.from, to, now }));
    const [from = to, last = to] = [starts[0], starts.at(-1)];
    const end = last + bucketMs;
    const counts = await readCounts(tx, {
      monitorId: id,
      from,
      // Rollups end with the current hour.
      to: bucketMs < HOUR_MS ? end : Math.min(end, (Math.floor(now / HOUR_MS) + 1) * HOUR_MS),
      bucketMs,
      rolledUntil: rolledUntil ?? from,
      now,
    });
    return {
      window,
      from: new Date(from).toISOString(),
      to: new Date(Math.min(end, now)).toISOString(),
      bucketSeconds: bucketMs / 1_000,
      uptime: uptimeOf(times),
      measured: times.observedMs / (to - period.from),
      ...figuresOf(addCounts(counts)),
      regions: byRegion(counts),
      current: await listMonitorRegions(tx, accountId, id),
      series: toSeries(counts, starts),
    };
  });
}

const clockRow = z.object({ now: z.number(), rolledUntil: z.number().nullable() });

/** Resolves the requested period. @param now PostgreSQL's clock, epoch milliseconds. @throws AppError validation_failed */
export function requirePeriod({ query, retentionDays }: PeriodRequest, now: number): Period {
  const period = resolvePeriod(query, now, now - retentionDays * 24 * HOUR_MS);
  if (period !== null) return period;
  const errors = [{ path: 'from', message: 'must be in the past' }];
  throw new AppError('validation_failed', 'The period has not begun yet.', { errors });
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
