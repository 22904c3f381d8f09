import type { MonitorRegion } from '@tocsin/contracts/monitor-region';
import { hasSay, type StatusRules } from '@tocsin/core/status/evaluate-status';
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { monitorNotFound } from '../monitors/find-monitor-row.ts';
import { monitors } from '../monitors/table.ts';
import { toRegionState } from './region-state.ts';
import { monitorRegions, type MonitorRegionRow } from './table.ts';

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
