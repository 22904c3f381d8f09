import { MAX_PROOF_WAIT_MS } from '@tocsin/core/status/apply-check';
import { MAX_AHEAD_MS } from '@tocsin/core/status/monitor-clock';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable } from '../database/open.ts';
import { epochMs, query } from '../database/sql.ts';

/**
 * A check may last this much longer than its timeout. This covers canaries before the probe (2 s), proof of the region's network, the start
 * and recording.
 */
const LATE_AFTER_SECONDS = 2 + MAX_PROOF_WAIT_MS / 1_000 + 3;
/** Maximum regions to list, longest late first. */
export const MAX_LATE_REGIONS = 100;

const lateRegion = z.object({ region: z.string(), since: z.number(), lateMs: z.number() });

interface LateRegion {
  /** Oldest due check without a result, epoch milliseconds. */
  readonly since: number;
  /** Age of the check by PostgreSQL's clock. */
  readonly lateMs: number;
}

export type LateRegions = ReadonlyMap<string, LateRegion>;

/**
 * Lists the regions that have recorded nothing since a check was due, whatever their queue and their checkers report. A monitor whose checks
 * cannot be recorded does not make a region late while others are recorded. A region without any result is not listed, because clients may
 * name any region.
 *
 * Every api runs this every two seconds. Usually the first part finds no region, and the statement costs one scan of `monitor_regions`, which
 * takes 20 ms with 50,000 monitors. While their region is late, it takes 110 ms, or twice that without a materialized `expected`, because
 * PostgreSQL then converts each time several times.
 */
export async function listLateRegions(db: Queryable): Promise<LateRegions> {
  // Results may be slightly in the future after a clock was set back.
  const checkedAt = sql`max(least(last_checked_at, now()))
    filter (where last_checked_at <= now() + make_interval(secs => ${MAX_AHEAD_MS / 1_000}::int))`;
  const isQuiet = sql`${checkedAt} < now() - make_interval(secs => ${LATE_AFTER_SECONDS}::int)`;
  const rows = await query(db, lateRegion)`
    with quiet as materialized (
      select region, ${checkedAt} as checked_at
      from monitor_regions group by region
      having max(last_checked_at) is not null and coalesce(${isQuiet}, true)
    ), expected as materialized (
      select s.region, m.timeout_seconds, s.interval_seconds * 1000::bigint as interval_ms, s.phase_ms,
        floor(${epochMs(sql`greatest(s.starts_at, q.checked_at)`)})::bigint as after
      from quiet q
      join schedule_spans s on s.region = q.region and s.ends_at is null
      join monitors m on m.id = s.monitor_id
    ), due as (
      select region, timeout_seconds, after - (after - phase_ms) % interval_ms + interval_ms as slot from expected
    )
    select region, min(slot)::float8 as since, ${epochMs(sql`now()`)} - min(slot) as late_ms from due
    where slot + (timeout_seconds + ${LATE_AFTER_SECONDS}::int) * 1000 <= (select ${epochMs(sql`now()`)})
    group by region order by since limit ${MAX_LATE_REGIONS}`;
  return new Map(rows.map(({ region, ...late }) => [region, late]));
}
