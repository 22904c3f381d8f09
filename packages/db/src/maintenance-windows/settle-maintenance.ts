import { leaveMaintenance, maintenanceEntry } from '@tocsin/core/status/maintenance';
import { sql, type SQL } from 'drizzle-orm';
import { lockMonitors, type LockedMonitor } from '../checks/lock-monitors.ts';
import { updateMonitors } from '../checks/write-checks.ts';
import { arrayOf } from '../database/arrays.ts';
import type { Database, Transaction } from '../database/open.ts';
import { recordStatusChanges, type StatusChange } from '../status-changes/record-status-changes.ts';

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
 * differ, or of those given, in one transaction (design §4 "Maintenance"). Whatever was left half done is found again,
 * and nothing is done twice. Monitors that another process holds are left for the next call. So are those that would come out of
 * maintenance while another of their windows is due and the clock could not begin it yet.
 */
export async function settleMaintenance(
  db: Database,
  among: readonly string[] | null = null,
): Promise<SettledMaintenance> {
  const differing = await findDiffering(db, among);
  if (differing.length === 0) return { monitors: 0, statusChangeIds: [] };
  return db.transaction(async (tx) => {
    const locked = [...(await lockMonitors(tx, differing)).values()];
    const { covered, awaited } = await findCovered(tx, locked);
    // Decided under the lock: another process may have been faster.
    const moved = locked.filter(({ id, status }) =>
      status === 'MAINTENANCE' ? !covered.has(id) && !awaited.has(id) : covered.has(id),
    );
    if (moved.length === 0) return { monitors: 0, statusChangeIds: [] };
    const changes = await recordStatusChanges(
      tx,
      moved.map((monitor) => (covered.has(monitor.id) ? enter(monitor) : leave(monitor))),
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

const RUNNING = sql`
  select a.monitor_id from maintenance_window_monitors a
  join maintenance_windows w on w.id = a.window_id and w.state = 'running'`;

const DUE = sql`
  select a.monitor_id from maintenance_window_monitors a
  join maintenance_windows w on w.id = a.window_id and w.state = 'scheduled'
    and w.occurrence_starts_at <= clock_timestamp()`;

async function findDiffering(db: Database, among: readonly string[] | null): Promise<string[]> {
  const scope: SQL = among === null ? sql`` : sql`and m.id = any(${arrayOf('uuid', among)})`;
  const { rows } = await db.execute<{ id: string }>(sql`
    (select m.id from monitors m
      where m.status = 'MAINTENANCE' ${scope} and not exists (${RUNNING} where a.monitor_id = m.id)
        and not exists (${DUE} where a.monitor_id = m.id)
      order by m.id limit ${SETTLED_AT_ONCE})
    union all
    (select m.id from monitors m
      where m.status <> 'MAINTENANCE' ${scope} and m.id in (${RUNNING})
      order by m.id limit ${SETTLED_AT_ONCE})
    limit ${SETTLED_AT_ONCE}`);
  return rows.map((row) => row.id);
}

async function findCovered(
  tx: Transaction,
  locked: readonly LockedMonitor[],
): Promise<{ covered: ReadonlySet<string>; awaited: ReadonlySet<string> }> {
  const ids = arrayOf(
    'uuid',
    locked.map((monitor) => monitor.id),
  );
  const { rows } = await tx.execute<{ monitor_id: string; running: boolean }>(sql`
    select monitor_id, true as running from (${RUNNING} where a.monitor_id = any(${ids})) r
    union all
    select monitor_id, false from (${DUE} where a.monitor_id = any(${ids})) d`);
  const idsOf = (running: boolean): Set<string> =>
    new Set(rows.filter((row) => row.running === running).map((row) => row.monitor_id));
  return { covered: idsOf(true), awaited: idsOf(false) };
}

function enter(monitor: LockedMonitor): StatusChange {
  const from = monitor.status;
  if (from === 'MAINTENANCE') throw new Error('the monitor is in maintenance already');
  monitor.status = 'MAINTENANCE';
  monitor.statusBeforeMaintenance = from;
  return {
    monitor,
    from,
    to: 'MAINTENANCE',
    announced: true,
    ...maintenanceEntry(monitor.namedRegions, [...monitor.regions.values()]),
    clock: monitor.clock,
  };
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
