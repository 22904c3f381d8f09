import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';

/** How much later than its interval and timeout a result may be: the grace of a job that is too late (design §4 "Slot"). */
const GRACE_SECONDS = 15;

export interface WatchedRegion {
  /** Monitors of every account that the region is to check. */
  readonly monitors: number;
  /**
   * Those whose last result, or where there is none their assignment, is older than interval, timeout and 15 s: nobody checks
   * them, for whatever reason.
   */
  readonly overdue: number;
}

/** How every region keeps up with its monitors, by what was recorded; the regions with the most monitors first. */
export async function watchRegions(db: Database, limit: number): Promise<Map<string, WatchedRegion>> {
  const { rows } = await db.execute<{ region: string; monitors: number; overdue: number }>(sql`
    select r.region, count(*)::int as monitors,
      (count(*) filter (where coalesce(r.last_result_at, r.since)
        < now() - make_interval(secs => m.interval_seconds + m.timeout_seconds + ${GRACE_SECONDS})))::int as overdue
    from monitor_regions r join monitors m on m.id = r.monitor_id
    group by r.region order by monitors desc, r.region limit ${limit}`);
  return new Map(rows.map(({ region, monitors, overdue }) => [region, { monitors, overdue }]));
}
