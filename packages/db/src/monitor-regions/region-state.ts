import type { RegionState } from '@tocsin/core/status/apply-check';
import type { MonitorRegionRow } from './table.ts';

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
