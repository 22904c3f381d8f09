import type { CheckCounts } from '@tocsin/core/stats/check-counts';
import { sql, type SQL } from 'drizzle-orm';
import type { Transaction } from '../database/open.ts';
import { hourlyCounts, ROLLUP_COLUMNS } from './hourly-counts.ts';

export interface CountsRange {
  readonly monitorId: string;
  readonly from: Date;
  /** The end of the hour that runs. */
  readonly to: Date;
  readonly bucketHours: number;
  /** Hours before it are rolled up; the others are counted from their events. */
  readonly rolledUntil: Date;
  readonly now: Date;
}

/** The counts of one region in one bucket of time, which begins at `start`, epoch milliseconds. */
export interface BucketCounts extends CheckCounts {
  readonly region: string;
  readonly start: number;
}

type CountsRow = Record<string, unknown> & {
  region: string;
  start: number;
  checks: number;
  failures: number;
  gaps: number;
  buckets: number[] | null;
  counts: number[] | null;
  timed_checks: number;
  dns: number;
  tcp: number;
  tls: number;
  first_byte: number;
  download: number;
};

/**
 * A monitor's counts by region and bucket, from rollups and from the events after them, nothing twice. To be called in one
 * snapshot with the reading of `rolledUntil`. Buckets without a check and without a gap are left out.
 */
export async function readCounts(tx: Transaction, range: CountsRange): Promise<BucketCounts[]> {
  const { monitorId, from, to, now } = range;
  const seam = new Date(Math.min(Math.max(range.rolledUntil.getTime(), from.getTime()), to.getTime()));
  const { rows } = await tx.execute<CountsRow>(sql`
    with hourly as (
      select c.*, date_bin(${range.bucketHours} * interval '1 hour', c.hour, timestamptz 'epoch') as start
      from (
        select ${ROLLUP_COLUMNS} from check_rollups
        where monitor_id = ${monitorId} and hour >= ${from.toISOString()} and hour < ${seam.toISOString()}
        union all select ${ROLLUP_COLUMNS} from (${hourlyCounts({ monitorIds: [monitorId], from: seam, to, now })}) live
      ) c),
    latencies as (
      select region, start, array_agg(bucket) as buckets, array_agg(count) as counts
      from (
        select h.region, h.start, u.bucket, sum(u.count)::float8 as count
        from hourly h, unnest(h.latency_buckets, h.latency_counts) as u (bucket, count) group by 1, 2, 3
      ) merged group by 1, 2)
    select h.region, (extract(epoch from h.start) * 1000)::float8 as start, l.buckets, l.counts, h.checks, h.failures,
      h.gaps, h.timed_checks, h.dns, h.tcp, h.tls, h.first_byte, h.download
    from (
      select region, start, ${sumOf('checks')}, ${sumOf('failures')}, ${sumOf('gaps')}, ${sumOf('timed_checks')},
        ${sumOf('dns_sum_ms')}, ${sumOf('tcp_sum_ms')}, ${sumOf('tls_sum_ms')}, ${sumOf('first_byte_sum_ms')},
        ${sumOf('download_sum_ms')}
      from hourly group by 1, 2
    ) h left join latencies l on l.region = h.region and l.start = h.start
    order by h.start, h.region`);
  return rows.map(toCounts);
}

function sumOf(column: string): SQL {
  return sql.raw(`sum(${column})::float8 as ${column.replace('_sum_ms', '')}`);
}

function toCounts(row: CountsRow): BucketCounts {
  const { region, start, checks, failures, gaps, buckets, counts } = row;
  return {
    region,
    start,
    checks,
    failures,
    gaps,
    latencies: new Map((buckets ?? []).map((bucket, index) => [bucket, counts?.[index] ?? 0])),
    timedChecks: row.timed_checks,
    phaseSumsMs: {
      dns: row.dns,
      tcp: row.tcp,
      tls: row.tls,
      firstByte: row.first_byte,
      download: row.download,
    },
  };
}
