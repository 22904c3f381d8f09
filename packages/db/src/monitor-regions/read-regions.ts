import type { MonitorRegion } from '@tocsin/contracts/monitors/events';
import { GRACE_MS } from '@tocsin/core/schedule/slots';
import type { RegionState } from '@tocsin/core/status/apply-check';
import { isEligible, isFailing, type StatusRules } from '@tocsin/core/status/evaluate-status';
import { and, asc, eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { epochMs, query } from '../database/sql.ts';
import { notFound } from '../database/errors.ts';
import { monitors } from '../monitors/table.ts';
import { type MonitorRegionRow, monitorRegions } from './table.ts';

/** Columns that the rules use. Every recorded check reads them. */
export const REGION_STATE_COLUMNS = {
  region: monitorRegions.region,
  consecutiveFailures: monitorRegions.consecutiveFailures,
  recoveryPasses: monitorRegions.recoveryPasses,
  recentSlots: monitorRegions.recentSlots,
  doubtful: monitorRegions.doubtful,
  lastResultAt: monitorRegions.lastResultAt,
  since: monitorRegions.since,
  lastLatencyMs: monitorRegions.lastLatencyMs,
  lastErrorReason: monitorRegions.lastErrorReason,
  lastErrorDetail: monitorRegions.lastErrorDetail,
};

export function toRegionState(row: Pick<MonitorRegionRow, keyof typeof REGION_STATE_COLUMNS>): RegionState {
  const {
    region,
    consecutiveFailures,
    recoveryPasses,
    recentSlots,
    doubtful,
    lastLatencyMs,
    lastErrorReason,
    lastErrorDetail,
  } = row;
  return {
    region,
    consecutiveFailures,
    recoveryPasses,
    recentSlots,
    doubtful,
    lastLatencyMs,
    lastErrorReason,
    lastErrorDetail,
    lastResultAt: row.lastResultAt?.getTime() ?? null,
    since: row.since.getTime(),
  };
}

/** Lists the last result of each region of a monitor, by code. @throws AppError not_found */
export async function listMonitorRegions(
  db: Database,
  accountId: string,
  id: string,
): Promise<MonitorRegion[]> {
  const { failureThreshold, recoveryThreshold, intervalSeconds, timeoutSeconds } = monitors;
  const rows = await db
    .select({
      rules: { failureThreshold, recoveryThreshold, intervalSeconds, timeoutSeconds },
      region: monitorRegions,
      now: epochMs(sql`clock_timestamp()`),
    })
    .from(monitors)
    .innerJoin(monitorRegions, eq(monitorRegions.monitorId, monitors.id))
    .where(and(eq(monitors.id, id), eq(monitors.accountId, accountId)))
    .orderBy(asc(monitorRegions.region));
  if (rows.length === 0) throw notFound('monitor');
  return rows.map(({ rules, region, now }) => toMonitorRegion(rules, region, now));
}

function toMonitorRegion(rules: StatusRules, row: MonitorRegionRow, now: number): MonitorRegion {
  const state = toRegionState(row);
  const { region, consecutiveFailures } = state;
  const reported = row.lastResultAt !== null;
  return {
    region,
    status: reported ? (consecutiveFailures === 0 ? 'UP' : 'DOWN') : null,
    failing: reported && isFailing(rules, state),
    consecutiveFailures,
    lastCheckedAt: row.lastResultAt?.toISOString() ?? null,
    eligible: isEligible(rules, state, now),
    certificateExpiresAt: row.certificateExpiresAt?.toISOString() ?? null,
  };
}

const regionCount = z.object({ region: z.string(), monitors: z.number() });

/** Counts the monitors that each region checks. @param accountId null for all accounts */
export async function countRegionMonitors(
  db: Database,
  accountId: string | null,
): Promise<Map<string, number>> {
  const rows = await query(db, regionCount)`
    select r.region, count(*)::int as monitors from monitor_regions r
    ${accountId === null ? sql`` : sql`join monitors m on m.id = r.monitor_id and m.account_id = ${accountId}`}
    group by r.region order by r.region`;
  return new Map(rows.map(({ region, monitors }) => [region, monitors]));
}

const watchedRegion = regionCount.extend({
  /** Number of monitors whose last result or assignment is older than their interval, timeout and 15 s, so that they are not being checked. */
  overdue: z.number(),
});
export type WatchedRegion = Omit<z.output<typeof watchedRegion>, 'region'>;

/** Reads how well each region keeps up with its monitors, by recorded results. The regions with the most monitors come first. */
export async function watchRegions(db: Database, limit: number): Promise<Map<string, WatchedRegion>> {
  const rows = await query(db, watchedRegion)`
    select r.region, count(*)::int as monitors,
      (count(*) filter (where greatest(r.since, r.last_checked_at)
        < now() - make_interval(secs => m.interval_seconds + m.timeout_seconds + ${GRACE_MS / 1_000}::int)))::int as overdue
    from monitor_regions r join monitors m on m.id = r.monitor_id and m.enabled
    group by r.region order by monitors desc, r.region limit ${limit}`;
  return new Map(rows.map(({ region, ...watched }) => [region, watched]));
}
