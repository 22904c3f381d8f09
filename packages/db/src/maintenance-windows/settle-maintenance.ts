import { enterMaintenance, leaveMaintenance } from '@tocsin/core/status/monitor-draft';
import { sql, type SQL } from 'drizzle-orm';
import { isRefusal } from '../database/errors.ts';
import type { Database, Transaction } from '../database/open.ts';
import { arrayOf, queryColumn } from '../database/sql.ts';
import { type RefusedRecord, tryAlone } from '../database/try-alone.ts';
import { lockMonitors } from '../status-changes/locked-monitor.ts';
import { writeStatuses } from '../status-changes/write-statuses.ts';
import { COVERS_ALL, HAS_BEGUN } from './coverage.ts';

/** Monitors per transaction, which then holds their locks for some tens of milliseconds. */
export const MAX_SETTLE_BATCH_SIZE = 200;

export interface SettledMaintenance {
  readonly monitors: number;
  readonly statusChangeIds: readonly string[];
  /** Monitors whose change PostgreSQL refuses even alone. */
  readonly refused: readonly RefusedRecord[];
}

/**
 * Enforces the rule "in MAINTENANCE if and only if one of its windows runs" for monitors that are not paused. One transaction handles up to
 * 200 monitors that violate it, or those given. The next call handles locked monitors, and those that would leave maintenance while another
 * of their windows is due or has not been ended yet. If PostgreSQL refuses the transaction, each monitor is tried alone, so that one that always fails does not stop the
 * others.
 * @param excludedIds ignored if `among` is given
 */
export async function settleMaintenance(
  db: Database,
  among: readonly string[] | null = null,
  excludedIds: readonly string[] = [],
): Promise<SettledMaintenance> {
  let ids: string[] = [];
  try {
    return await db.transaction(async (tx) => {
      ids = await lockDiffering(tx, among, excludedIds);
      return settleLocked(tx, ids);
    });
  } catch (error) {
    if (!isRefusal(error) || ids.length === 0) throw error;
    return settleAlone(db, ids);
  }
}

async function settleAlone(db: Database, ids: readonly string[]): Promise<SettledMaintenance> {
  const monitors = ids.map((id) => ({ id }));
  const { results, refused } = await tryAlone(db, monitors, async (tx, { id }) =>
    settleLocked(tx, await lockDiffering(tx, [id], [])),
  );
  return {
    monitors: results.reduce((sum, result) => sum + result.monitors, 0),
    statusChangeIds: results.flatMap(({ statusChangeIds }) => statusChangeIds),
    refused,
  };
}

async function settleLocked(tx: Transaction, ids: readonly string[]): Promise<SettledMaintenance> {
  if (ids.length === 0) return { monitors: 0, statusChangeIds: [], refused: [] };
  const monitors = await lockMonitors(tx, ids);
  for (const monitor of monitors.values()) {
    // This is decided under the lock, because a window may have changed since the monitor was found.
    if (!monitor.enabled) continue;
    const isInMaintenance = monitor.status === 'MAINTENANCE';
    if (isInMaintenance && !monitor.covered) leaveMaintenance(monitor);
    if (!isInMaintenance && monitor.covered) enterMaintenance(monitor);
  }
  const changes = [...(await writeStatuses(tx, monitors.values())).values()];
  return {
    monitors: changes.length,
    statusChangeIds: changes.filter(({ due }) => due).map(({ id }) => id),
    refused: [],
  };
}

/** Condition that window `w` runs, or will run as soon as the maintenance clock handles it. */
const BEGUN = sql`(w.state = 'running' or (w.state = 'scheduled' and w.occurrence_starts_at <= statement_timestamp()))`;

/** Locks the monitors that violate the rule, except locked ones. Monitors to enter come first, because they could alert. */
async function lockDiffering(
  tx: Transaction,
  among: readonly string[] | null,
  excludedIds: readonly string[],
): Promise<string[]> {
  // If some monitors are refused, others may be refused as well. In a fixed order, these could keep all others from their turn.
  const isSuspect = excludedIds.length > 0;
  const order = isSuspect ? sql`random()` : sql`m.id`;
  const maxEntering = isSuspect ? MAX_SETTLE_BATCH_SIZE / 2 : MAX_SETTLE_BATCH_SIZE;
  const scope: SQL =
    among === null
      ? sql`and m.id <> all(${arrayOf('uuid', excludedIds)})`
      : sql`and m.id = any(${arrayOf('uuid', among)})`;
  return queryColumn(tx)`
    with entering as (
      select m.id from monitors m
      where m.status <> 'MAINTENANCE' and m.enabled ${scope}
        and m.id in (
          select a.monitor_id from maintenance_window_monitors a join maintenance_windows w on w.id = a.window_id
          where ${HAS_BEGUN}
          union all
          select free.id from monitors free
          where free.status <> 'MAINTENANCE' and free.account_id in (
            select w.account_id from maintenance_windows w where ${HAS_BEGUN} and ${COVERS_ALL}))
      order by ${order} limit ${maxEntering} for no key update of m skip locked
    ), leaving as (
      select m.id from monitors m
      where m.status = 'MAINTENANCE' and m.enabled ${scope}
        and not exists (
          select from maintenance_windows w where w.account_id = m.account_id and ${BEGUN} and ${COVERS_ALL})
        and not exists (
          select from maintenance_window_monitors a join maintenance_windows w on w.id = a.window_id
          where a.monitor_id = m.id and ${BEGUN})
      order by ${order} limit greatest(0, ${MAX_SETTLE_BATCH_SIZE} - (select count(*) from entering)) for no key update of m skip locked
    )
    select id from entering union all select id from leaving`;
}
