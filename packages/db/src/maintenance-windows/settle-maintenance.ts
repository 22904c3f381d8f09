import { sql, type SQL } from 'drizzle-orm';
import type { Database, Transaction } from '../database/open.ts';
import { arrayOf, queryColumn } from '../database/sql.ts';
import { enterMaintenance, leaveMaintenance, lockMonitors } from '../status-changes/locked-monitor.ts';
import { writeStatuses } from '../status-changes/write-statuses.ts';
import { COVERS_ALL, HAS_BEGUN } from './coverage.ts';

/** Monitors that one transaction settles: it holds their locks for some tens of milliseconds. */
export const SETTLED_AT_ONCE = 200;

export interface SettledMaintenance {
  readonly monitors: number;
  /** Status changes whose deliveries are due. */
  readonly statusChangeIds: readonly string[];
}

/**
 * Enforces the rule "in MAINTENANCE if and only if one of its windows runs" for up to 200 of the monitors that break it, or of those
 * given, in one transaction. Left for the next call are locked monitors, and those that would leave maintenance while another of their
 * windows is due or has not been ended yet.
 */
export async function settleMaintenance(
  db: Database,
  among: readonly string[] | null = null,
): Promise<SettledMaintenance> {
  return db.transaction(async (tx) => {
    const differing = await lockDiffering(tx, among);
    if (differing.length === 0) return { monitors: 0, statusChangeIds: [] };
    const monitors = await lockMonitors(tx, differing);
    for (const monitor of monitors.values()) {
      // Decided under the lock: a window may have changed since the monitor was found.
      const isInMaintenance = monitor.status === 'MAINTENANCE';
      if (isInMaintenance && !monitor.covered) leaveMaintenance(monitor);
      if (!isInMaintenance && monitor.covered) enterMaintenance(monitor);
    }
    const changes = [...(await writeStatuses(tx, monitors.values())).values()];
    return {
      monitors: changes.length,
      statusChangeIds: changes.filter(({ due }) => due).map(({ id }) => id),
    };
  });
}

/** Whether window `w` runs, or will once the maintenance clock has looked at it. */
const BEGUN = sql`(w.state = 'running' or (w.state = 'scheduled' and w.occurrence_starts_at <= statement_timestamp()))`;

/** Locks free monitors that break the rule. Those that have to enter come first: they could alert. */
async function lockDiffering(tx: Transaction, among: readonly string[] | null): Promise<string[]> {
  const scope: SQL = among === null ? sql`` : sql`and m.id = any(${arrayOf('uuid', among)})`;
  return queryColumn(tx)`
    with entering as (
      select m.id from monitors m
      where m.status <> 'MAINTENANCE' ${scope}
        and m.id in (
          select a.monitor_id from maintenance_window_monitors a join maintenance_windows w on w.id = a.window_id
          where ${HAS_BEGUN}
          union all
          select free.id from monitors free
          where free.status <> 'MAINTENANCE' and free.account_id in (
            select w.account_id from maintenance_windows w where ${HAS_BEGUN} and ${COVERS_ALL}))
      order by m.id limit ${SETTLED_AT_ONCE} for no key update of m skip locked
    ), leaving as (
      select m.id from monitors m
      where m.status = 'MAINTENANCE' ${scope}
        and not exists (
          select from maintenance_windows w where w.account_id = m.account_id and ${BEGUN} and ${COVERS_ALL})
        and not exists (
          select from maintenance_window_monitors a join maintenance_windows w on w.id = a.window_id
          where a.monitor_id = m.id and ${BEGUN})
      order by m.id limit greatest(0, ${SETTLED_AT_ONCE} - (select count(*) from entering)) for no key update of m skip locked
    )
    select id from entering union all select id from leaving`;
}
