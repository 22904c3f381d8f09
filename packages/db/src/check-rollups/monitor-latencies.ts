import { LIMITS } from '@tocsin/contracts/limits';
import type { MonitorLatency } from '@tocsin/contracts/monitors/bulk-routes';
import { bucketLatency, LATENCY_BOUNDS } from '@tocsin/core/stats/latency-histogram';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { arrayOf, query } from '../database/sql.ts';

const latencyRow = z.object({ monitorId: z.string(), p95: z.number(), p99: z.number() });

/** Lists the latencies of monitors with a response in the last full hour that is rolled up, or since. */
export async function listMonitorLatencies(db: Database, accountId: string): Promise<MonitorLatency[]> {
  // Each region of a monitor is read by the primary key, regardless of the age of the partition.
  const rows = await query(db, latencyRow)`
    with recent as (
      select coalesce(max(rolled_until), now() - interval '1 hour') as until from check_rollup_state),
    own as (
      select m.id, r.region, recent.until
      from recent cross join monitors m join monitor_regions r on r.monitor_id = m.id
      where m.account_id = ${accountId}),
    responses as (
      select own.id as monitor_id, u.bucket, u.count
      from own join check_rollups c
        on c.monitor_id = own.id and c.region = own.region and c.hour = own.until - interval '1 hour'
      cross join lateral unnest(c.latency_buckets, c.latency_counts) as u (bucket, count)
      union all
      select own.id, width_bucket(e.latency_ms, ${arrayOf('int', LATENCY_BOUNDS)})::smallint, 1
      from (select distinct id, until from own) own cross join lateral (
        select latency_ms from events
        where monitor_id = own.id and timestamp >= own.until and url is null and not inconclusive
          and status_code is not null and latency_ms > 0
        order by timestamp desc limit ${LIMITS.latencyChecks}
      ) e),
    buckets as (select monitor_id, bucket, sum(count) as count from responses group by 1, 2),
    ranked as (
      select monitor_id, bucket, sum(count) over (partition by monitor_id order by bucket) as passed,
        sum(count) over (partition by monitor_id) as total
      from buckets)
    select monitor_id, ${percentile(0.95)} as p95, ${percentile(0.99)} as p99 from ranked group by 1`;
  return rows.map(({ monitorId, p95, p99 }) => ({
    monitorId,
    p95: bucketLatency(p95),
    p99: bucketLatency(p99),
  }));
}

/** Returns the bucket of the nearest rank, as in `latencyQuantile`. */
function percentile(part: number) {
  return sql`min(bucket) filter (where passed >= ceil(total * ${part}::numeric))::int`;
}
