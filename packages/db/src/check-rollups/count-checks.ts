import { LATENCY_BOUNDS } from '@tocsin/core/stats/latency-histogram';
import { GRACE_MS, MAX_LATENESS_MS } from '@tocsin/core/schedule/slots';
import type { CheckCounts } from '@tocsin/core/stats/check-counts';
import { sql, type SQL, type Subquery } from 'drizzle-orm';
import { z } from 'zod';
import type { Transaction } from '../database/open.ts';
import { arrayOf, epochMs, query, timestamptz } from '../database/sql.ts';
import { storedEvents } from '../events/stored-events.ts';

/** Timings of a check. For each, `events` has a column such as `dns_ms`, and `check_rollups` a sum such as `dns_sum_ms`. */
const TIMINGS = ['dns', 'tcp', 'tls', 'first_byte', 'download'];
const forTimings = (toText: (timing: string) => string): SQL => sql.raw(TIMINGS.map(toText).join(', '));

/** Columns of `check_rollups` in the order of `hourlyCounts`. */
export const ROLLUP_COLUMNS = sql`monitor_id, region, hour, checks, failures, inconclusive, gaps, latency_buckets, latency_counts, timed_checks,
  ${forTimings((timing) => `${timing}_sum_ms`)}`;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A range of whole hours, or of other whole periods, in epoch milliseconds. */
export interface HoursRange {
  readonly from: number;
  readonly to: number;
  /** Length of a period. Defaults to an hour. */
  readonly periodMs?: number;
  /** PostgreSQL's clock. A slot is not a gap while its check may still run. */
  readonly now: number;
}

/**
 * Query that counts raw events by monitor, region and hour (or another period), with `ROLLUP_COLUMNS`. It omits hours without checks and
 * gaps. A check counts in the hour of its event, and a gap in the hour of its slot. An inconclusive check is no gap, and counts only as
 * inconclusive. A planned slot without an event within 15 minutes is a gap as soon as its check can no longer start, which is one interval
 * and 15 s after the slot, but at most 15 minutes.
 */
export function hourlyCounts(
  monitorIds: readonly string[],
  { from, to, now, periodMs = HOUR_MS }: HoursRange,
): SQL {
  const period = milliseconds(periodMs);
  const hourOf = (time: SQL): SQL => sql`date_bin(${period}, ${time}, timestamptz 'epoch')`;
  const ids = arrayOf('uuid', monitorIds);
  const [start, end, clock] = [timestamptz(from), timestamptz(to), timestamptz(now)];
  const late = milliseconds(MAX_LATENESS_MS);
  const stored = (since: number, until: number): Subquery =>
    storedEvents({ of: sql`monitor_id = any(${ids})`, after: since - 1, upTo: until - 1 });
  const counted = sql`${stored(from, to)} where url is null`;
  return sql`
    with checked as (
      select monitor_id, region, ${hourOf(sql`timestamp`)} as hour,
        count(*) filter (where not inconclusive) as checks,
        count(*) filter (where status = 'DOWN' and not inconclusive) as failures,
        count(*) filter (where inconclusive) as inconclusive,
        count(first_byte_ms) filter (where not inconclusive) as timed_checks,
        ${forTimings((timing) => `sum(${timing}_ms) filter (where first_byte_ms is not null and not inconclusive) as ${timing}_ms`)}
      from ${counted} group by 1, 2, 3),
    responded as (
      select monitor_id, region, ${hourOf(sql`timestamp`)} as hour,
        width_bucket(latency_ms, ${arrayOf('int', LATENCY_BOUNDS)})::smallint as bucket, count(*)::int as count
      from ${counted} and not inconclusive and status_code is not null and latency_ms > 0
      group by 1, 2, 3, 4),
    latencies as (
      select monitor_id, region, hour,
        array_agg(bucket order by bucket) as latency_buckets, array_agg(count order by bucket) as latency_counts
      from responded group by 1, 2, 3),
    due as (
      select s.monitor_id, s.region, h.hour, s.phase_ms, s.interval_seconds * 1000::bigint as interval_ms,
        greatest(s.starts_at, h.hour) as first_at,
        least(s.ends_at, h.hour + ${period}, ${clock} - least(${late},
          s.interval_seconds * interval '1 second' + ${milliseconds(GRACE_MS)})) as until_at
      from generate_series(${start}, ${end} - ${period}, ${period}) as h (hour)
      join schedule_spans s on s.starts_at < h.hour + ${period} and (s.ends_at is null or s.ends_at > h.hour)
      where s.monitor_id = any(${ids})),
    planned as (
      select monitor_id, region, hour, sum(${slotsBefore(sql`until_at`)} - ${slotsBefore(sql`first_at`)}) as slots
      from due where until_at > first_at group by 1, 2, 3),
    checked_slots as (
      select d.monitor_id, d.region, d.hour, count(distinct e.slot) as slots
      from due d join (select * from ${stored(from - MAX_LATENESS_MS, to + MAX_LATENESS_MS)}) e
        on e.monitor_id = d.monitor_id and e.region = d.region and e.source = 'schedule'
        and e.slot >= d.first_at and e.slot < d.until_at and (${wholeMs(sql`e.slot`)} - d.phase_ms) % d.interval_ms = 0
        and e.timestamp <= e.slot + ${late}
        and e.timestamp >= d.hour - ${late} and e.timestamp < d.hour + ${period} + ${late}
      group by 1, 2, 3)
    select monitor_id, region, hour,
      coalesce(c.checks, 0)::int as checks, coalesce(c.failures, 0)::int as failures,
      coalesce(c.inconclusive, 0)::int as inconclusive,
      (coalesce(p.slots, 0) - coalesce(v.slots, 0))::int as gaps,
      coalesce(l.latency_buckets, '{}') as latency_buckets, coalesce(l.latency_counts, '{}') as latency_counts,
      coalesce(c.timed_checks, 0)::int as timed_checks,
      ${forTimings((timing) => `coalesce(c.${timing}_ms, 0)::bigint as ${timing}_sum_ms`)}
    from checked c full join planned p using (monitor_id, region, hour)
    left join checked_slots v using (monitor_id, region, hour)
    left join latencies l using (monitor_id, region, hour)
    where c.checks > 0 or c.inconclusive > 0 or p.slots > coalesce(v.slots, 0)`;
}

function milliseconds(ms: number): SQL {
  return sql`${ms} * interval '1 millisecond'`;
}

function wholeMs(time: SQL): SQL {
  return sql`(extract(epoch from ${time}) * 1000)::bigint`;
}

/** Counts the slots of a schedule before an instant, from its offset in 1970. */
function slotsBefore(time: SQL): SQL {
  return sql`((${wholeMs(time)} - phase_ms + interval_ms - 1) / interval_ms)`;
}

export interface CountsRange extends Omit<HoursRange, 'periodMs'> {
  readonly monitorId: string;
  readonly bucketMs: number;
  /** Hours before this are rolled up, and later ones are counted from events. Buckets shorter than an hour are always counted from events. */
  readonly rolledUntil: number;
}

/** Counts for one region in the period that begins at `start`, in epoch milliseconds. */
export interface BucketCounts extends CheckCounts {
  readonly region: string;
  readonly start: number;
}

const countsRow = z.object({
  region: z.string(),
  start: z.number(),
  checks: z.number(),
  failures: z.number(),
  inconclusive: z.number(),
  gaps: z.number(),
  timedChecks: z.number(),
  buckets: z.array(z.number()).nullable(),
  counts: z.array(z.number()).nullable(),
  dns: z.number(),
  tcp: z.number(),
  tls: z.number(),
  firstByte: z.number(),
  download: z.number(),
});

/** Reads counts by region and period. Call it in the snapshot that `rolledUntil` comes from, so that nothing counts twice. */
export async function readCounts(tx: Transaction, range: CountsRange): Promise<BucketCounts[]> {
  const { monitorId, from, to, now, bucketMs } = range;
  const periodMs = Math.min(bucketMs, HOUR_MS);
  const seam = periodMs < HOUR_MS ? from : Math.min(Math.max(range.rolledUntil, from), to);
  const rows = await query(tx, countsRow)`
    with hourly as (
      select c.*, date_bin(${milliseconds(bucketMs)}, c.hour, timestamptz 'epoch') as start
      from (
        select ${ROLLUP_COLUMNS} from check_rollups
        where monitor_id = ${monitorId} and hour >= ${timestamptz(from)} and hour < ${timestamptz(seam)}
        union all select ${ROLLUP_COLUMNS} from (${hourlyCounts([monitorId], { from: seam, to, now, periodMs })}) live
      ) c),
    latencies as (
      select region, start, array_agg(bucket) as buckets, array_agg(count) as counts
      from (
        select h.region, h.start, u.bucket, sum(u.count)::float8 as count
        from hourly h, unnest(h.latency_buckets, h.latency_counts) as u (bucket, count) group by 1, 2, 3
      ) merged group by 1, 2)
    select region, ${epochMs(sql`start`)} as start, l.buckets, l.counts,
      sum(checks)::float8 as checks, sum(failures)::float8 as failures,
      sum(inconclusive)::float8 as inconclusive, sum(gaps)::float8 as gaps,
      sum(timed_checks)::float8 as timed_checks,
      ${forTimings((timing) => `sum(${timing}_sum_ms)::float8 as ${timing}`)}
    from hourly left join latencies l using (region, start)
    group by region, start, l.buckets, l.counts order by start, region`;
  return rows.map(({ buckets, counts, dns, tcp, tls, firstByte, download, ...row }) => {
    const latencies = new Map((buckets ?? []).map((bucket, index) => [bucket, counts?.[index] ?? 0]));
    return Object.assign(row, { latencies, timingSumsMs: { dns, tcp, tls, firstByte, download } });
  });
}

const totalsRow = z.object({
  monitorId: z.string(),
  checks: z.number(),
  failures: z.number(),
  gaps: z.number(),
});

export interface TotalsRange extends Omit<CountsRange, 'monitorId' | 'bucketMs'> {
  /** Days before this are in `check_days`. Null: none is. */
  readonly summedUntil: number | null;
}

/** Reads the counts of all monitors that have any, over all regions. Requires the same snapshot as `readCounts`. */
export async function readTotals(
  tx: Transaction,
  monitorIds: readonly string[],
  { from, to, now, rolledUntil, summedUntil }: TotalsRange,
): Promise<z.output<typeof totalsRow>[]> {
  const seam = Math.min(Math.max(rolledUntil, from), to);
  // Whole days come from `check_days`, and the hours before and after them from `check_rollups`.
  const lastDay = Math.max(Math.floor(Math.min(seam, summedUntil ?? from) / DAY_MS) * DAY_MS, from);
  const firstDay = Math.min(Math.ceil(from / DAY_MS) * DAY_MS, lastDay);
  const ids = arrayOf('uuid', monitorIds);
  const [start, dayStart, dayEnd, end] = [from, firstDay, lastDay, seam].map(timestamptz) as [
    SQL,
    SQL,
    SQL,
    SQL,
  ];
  return query(tx, totalsRow)`
    select monitor_id, sum(checks)::float8 as checks, sum(failures)::float8 as failures, sum(gaps)::float8 as gaps
    from (
      select monitor_id, checks, failures, gaps from check_days
      where monitor_id = any(${ids}) and day >= ${dayStart} and day < ${dayEnd}
      union all
      select monitor_id, checks, failures, gaps from check_rollups
      where monitor_id = any(${ids}) and (hour >= ${start} and hour < ${dayStart} or hour >= ${dayEnd} and hour < ${end})
      union all
      select monitor_id, checks, failures, gaps from (${hourlyCounts(monitorIds, { from: seam, to, now })}) live
    ) c group by 1`;
}
