import { LIMITS } from '@tocsin/contracts/limits';
import type { MonitorLatency } from '@tocsin/contracts/monitors/bulk-routes';
import { bucketLatency } from '@tocsin/core/stats/latency-histogram';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { query } from '../database/sql.ts';

const latencyRow = z.object({ monitorId: z.string(), p95: z.number(), p99: z.number() });

/** Lists the latencies of monitors with a response in the last full hours that are rolled up. */
export async function listMonitorLatencies(db: Database, accountId: string): Promise<MonitorLatency[]> {
  // Each region of a monitor is read by the primary key, regardless of the age of the partition.
  const rows = await query(db, latencyRow)`
    with recent as (
      select rolled_until - ${LIMITS.latencyHours} * interval '1 hour' as since, rolled_until as until
      from check_rollup_state),
    buckets as (
      select m.id as monitor_id, u.bucket, sum(u.count) as count
      from recent cross join monitors m join monitor_regions r on r.monitor_id = m.id
      cross join lateral (
        select latency_buckets, latency_counts from check_rollups c
        where c.monitor_id = m.id and c.region = r.region and c.hour >= recent.since and c.hour < recent.until
      ) c
      cross join lateral unnest(c.latency_buckets, c.latency_counts) as u (bucket, count)
      where m.account_id = ${accountId} group by 1, 2),
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
