import type { RegionState } from '@tocsin/core/status/apply-check';
import { judgeStatus } from '@tocsin/core/status/evaluate-status';
import { decidingCheck } from '@tocsin/core/status/maintenance';
import { isAnnounced, MonitorClock } from '@tocsin/core/status/webhook-events';
import { sql } from 'drizzle-orm';
import type { Transaction } from '../database/open.ts';
import { arrayOf, columnOf, readDatabaseClock } from '../database/sql.ts';
import { readCovered } from '../maintenance-windows/coverage.ts';
import { toRegionState } from '../monitor-regions/read-regions.ts';
import { monitorRegions } from '../monitor-regions/table.ts';
import type { MonitorRow } from '../monitors/table.ts';
import {
  type RecordedStatusChange,
  recordStatusChanges,
  type StatusChange,
} from './record-status-changes.ts';

/** A monitor after it was judged, with its row as it is now. */
export interface JudgedMonitor {
  readonly row: MonitorRow;
  readonly statusChange: RecordedStatusChange;
}

/**
 * Applies the rules to what the regions of monitors last said, without a check. The caller holds the monitors' row locks.
 * @returns by id, those whose status is another now; those that maintenance covers are evaluated at its end
 */
export async function judgeMonitors(
  tx: Transaction,
  rows: readonly MonitorRow[],
): Promise<Map<string, JudgedMonitor>> {
  const judged = rows.filter(({ status }) => status === 'UP' || status === 'DOWN');
  if (judged.length === 0) return new Map();
  const regions = await readRegions(
    tx,
    judged.map(({ id }) => id),
  );
  const now = (await readDatabaseClock(tx)).getTime();
  const candidates = judged.flatMap((row) => {
    const change = judge(row, regions.get(row.id) ?? [], now);
    return change === null ? [] : [{ row, change }];
  });
  const covered = await readCovered(
    tx,
    candidates.map(({ row }) => row),
  );
  const moves = candidates.filter(({ row }) => !covered.has(row.id));
  if (moves.length === 0) return new Map();
  const recorded = await recordStatusChanges(
    tx,
    moves.map(({ change }) => change),
  );
  const after = moves.map(({ row, change }, index): JudgedMonitor => {
    const statusChange = recorded[index];
    if (!statusChange) throw new Error('a status change was not recorded');
    const [statusSince, lastTimestamp] = [new Date(statusChange.timestamp), new Date(change.clock.last)];
    return { row: { ...row, status: change.to, statusSince, lastTimestamp }, statusChange };
  });
  await writeStatuses(
    tx,
    after.map(({ row }) => row),
  );
  return new Map(after.map((monitor) => [monitor.row.id, monitor]));
}

/** Null where the status stays. */
function judge(row: MonitorRow, regions: readonly RegionState[], now: number): StatusChange | null {
  const clock = new MonitorClock(row.lastTimestamp?.getTime() ?? null, now);
  const status = judgeStatus(row, row.status, regions, now);
  if (status === null || status === row.status) return null;
  return {
    monitor: row,
    from: row.status,
    to: status,
    announced: isAnnounced(row.status, status),
    ...decidingCheck(row, regions, status, now),
    clock,
  };
}

async function readRegions(tx: Transaction, ids: readonly string[]): Promise<Map<string, RegionState[]>> {
  const rows = await tx
    .select()
    .from(monitorRegions)
    .where(sql`${monitorRegions.monitorId} = any(${arrayOf('uuid', ids)})`);
  const regions = new Map<string, RegionState[]>();
  for (const row of rows) {
    const known = regions.get(row.monitorId);
    if (known) known.push(toRegionState(row));
    else regions.set(row.monitorId, [toRegionState(row)]);
  }
  return regions;
}

async function writeStatuses(tx: Transaction, rows: readonly MonitorRow[]): Promise<void> {
  await tx.execute(sql`
    update monitors m set status = u.status, status_since = u.status_since, last_timestamp = u.last_timestamp
    from unnest(
      ${columnOf(rows, 'uuid', (row) => row.id)},
      ${columnOf(rows, 'text', (row) => row.status)},
      ${columnOf(rows, 'timestamptz', (row) => row.statusSince.toISOString())},
      ${columnOf(rows, 'timestamptz', (row) => row.lastTimestamp?.toISOString() ?? null)}
    ) as u (id, status, status_since, last_timestamp)
    where m.id = u.id`);
}
