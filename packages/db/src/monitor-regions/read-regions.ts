import type { MonitorRegion } from '@tocsin/contracts/monitors/events';
import type { RegionState } from '@tocsin/core/status/apply-check';
import { hasSay, type StatusRules } from '@tocsin/core/status/evaluate-status';
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { monitorNotFound } from '../monitors/monitor-row.ts';
import { monitors } from '../monitors/table.ts';
import { type MonitorRegionRow, monitorRegions } from './table.ts';

/** A region's row as the rules see it. */
export function toRegionState(row: MonitorRegionRow): RegionState {
  return {
    region: row.region,
    consecutiveFailures: row.consecutiveFailures,
    lastResultAt: row.lastResultAt?.getTime() ?? null,
    since: row.since.getTime(),
    recentSlots: row.recentSlots,
    lastLatencyMs: row.lastLatencyMs,
    lastErrorReason: row.lastErrorReason,
  };
}

/** What each region of a monitor last said, by code. @throws AppError not_found */
export async function listMonitorRegions(
  db: Database,
  accountId: string,
  id: string,
): Promise<MonitorRegion[]> {
  const { failureThreshold, intervalSeconds, timeoutSeconds } = monitors;
  const rows = await db
    .select({
      rules: { failureThreshold, intervalSeconds, timeoutSeconds },
      region: monitorRegions,
      now: sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8`,
    })
    .from(monitors)
    .innerJoin(monitorRegions, eq(monitorRegions.monitorId, monitors.id))
    .where(and(eq(monitors.id, id), eq(monitors.accountId, accountId)))
    .orderBy(asc(monitorRegions.region));
  // Every monitor has a region.
  if (rows.length === 0) throw monitorNotFound();
  return rows.map(({ rules, region, now }) => toMonitorRegion(rules, region, now));
}

function toMonitorRegion(rules: StatusRules, row: MonitorRegionRow, now: number): MonitorRegion {
  const state = toRegionState(row);
  const { consecutiveFailures } = state;
  const reported = row.lastResultAt !== null;
  return {
    region: row.region,
    status: reported ? (consecutiveFailures === 0 ? 'UP' : 'DOWN') : null,
    failing: reported && consecutiveFailures >= rules.failureThreshold,
    consecutiveFailures,
    lastCheckedAt: row.lastResultAt?.toISOString() ?? null,
    hasSay: hasSay(rules, state, now),
    certificateExpiresAt: row.certificateExpiresAt?.toISOString() ?? null,
  };
}

/**
 * How many monitors each region checks, by region.
 * @param accountId only this account's; null: everybody's
 */
export async function countRegionMonitors(
  db: Database,
  accountId: string | null,
): Promise<Map<string, number>> {
  const { rows } = await db.execute<{ region: string; monitors: number }>(sql`
    select r.region, count(*)::int as monitors from monitor_regions r
    ${accountId === null ? sql`` : sql`join monitors m on m.id = r.monitor_id and m.account_id = ${accountId}`}
    group by r.region order by r.region`);
  return new Map(rows.map((row) => [row.region, row.monitors]));
}

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
