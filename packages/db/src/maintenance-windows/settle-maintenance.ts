import { leaveMaintenance } from '@tocsin/core/status/maintenance';
import { sql, type SQL } from 'drizzle-orm';
import { type LockedMonitor, lockMonitors } from '../checks/lock-monitors.ts';
import { updateMonitors } from '../checks/write-checks.ts';
import type { Database, Transaction } from '../database/open.ts';
import { arrayOf } from '../database/sql.ts';
import { enterMaintenance } from '../status-changes/maintenance-changes.ts';
import { recordStatusChanges, type StatusChange } from '../status-changes/record-status-changes.ts';
import { HAS_BEGUN } from './coverage.ts';

/** Monitors that one transaction brings in line: their locks are held for some tens of milliseconds. */
export const SETTLED_AT_ONCE = 200;

/** What was brought in line. */
export interface SettledMaintenance {
  readonly monitors: number;
  /** Status changes whose deliveries are due. */
  readonly statusChangeIds: readonly string[];
}

/**
 * Brings monitors in line with the rule "in MAINTENANCE if and only if one of its windows runs": up to 200 of those that
 * differ, or of those given, in one transaction. Whatever was left half done is found again, and nothing is done twice. Monitors that
 * another process holds are left for the next call, and so are those that would come out of maintenance while another of their windows is
 * due or could not be ended yet.
 */
export async function settleMaintenance(
  db: Database,
  among: readonly string[] | null = null,
): Promise<SettledMaintenance> {
  return db.transaction(async (tx) => {
    const differing = await lockDiffering(tx, among);
    if (differing.length === 0) return { monitors: 0, statusChangeIds: [] };
    const locked = [...(await lockMonitors(tx, differing)).values()];
    // Decided under the lock: a window may have been changed since it was looked at.
    const moved = locked.filter(({ status, covered }) => (status === 'MAINTENANCE') !== covered);
    if (moved.length === 0) return { monitors: 0, statusChangeIds: [] };
    const changes = await recordStatusChanges(
      tx,
      moved.map((monitor) => (monitor.status === 'MAINTENANCE' ? leave(monitor) : enterMaintenance(monitor))),
    );
    moved.forEach((monitor, index) => {
      monitor.statusSince = changes[index]?.timestamp ?? null;
    });
    await updateMonitors(tx, moved);
    return {
      monitors: moved.length,
      statusChangeIds: changes.filter((change) => change.due).map((change) => change.id),
    };
  });
}

/** Windows that run, or will once the clock has looked at them. */
const BEGUN = sql`
  select from maintenance_window_monitors a join maintenance_windows w on w.id = a.window_id
  where a.monitor_id = m.id
    and (w.state = 'running' or (w.state = 'scheduled' and w.occurrence_starts_at <= statement_timestamp()))`;

/** Locks the monitors that differ and that nobody else holds, first those that are to enter: they could alert. */
async function lockDiffering(tx: Transaction, among: readonly string[] | null): Promise<string[]> {
  const scope: SQL = among === null ? sql`` : sql`and m.id = any(${arrayOf('uuid', among)})`;
  const { rows } = await tx.execute<{ id: string }>(sql`
    with entering as (
      select m.id from monitors m
      where m.status <> 'MAINTENANCE' ${scope}
        and m.id in (
          select a.monitor_id from maintenance_window_monitors a join maintenance_windows w on w.id = a.window_id
          where ${HAS_BEGUN})
      order by m.id limit ${SETTLED_AT_ONCE} for no key update of m skip locked
    ), leaving as (
      select m.id from monitors m
      where m.status = 'MAINTENANCE' ${scope} and not exists (${BEGUN})
      order by m.id limit greatest(0, ${SETTLED_AT_ONCE} - (select count(*) from entering)) for no key update of m skip locked
    )
    select id from entering union all select id from leaving`);
  return rows.map((row) => row.id);
}

function leave(monitor: LockedMonitor): StatusChange {
  const before = monitor.statusBeforeMaintenance ?? 'PENDING';
  const exit = leaveMaintenance(monitor, before, [...monitor.regions.values()], monitor.clock.now);
  monitor.status = exit.to;
  monitor.statusBeforeMaintenance = null;
  // A silent change has no webhook event to stamp; it happens now, not at the last check.
  if (!exit.announced) monitor.clock.next();
  return {
    monitor,
    from: 'MAINTENANCE',
    to: exit.to,
    announced: exit.announced,
    ...exit.check,
    clock: monitor.clock,
  };
}
