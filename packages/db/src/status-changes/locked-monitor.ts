import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import type { RegionState } from '@tocsin/core/status/apply-check';
import {
  type DecidingCheck,
  leaveMaintenance as decideExit,
  maintenanceEntry,
} from '@tocsin/core/status/maintenance';
import { MonitorClock } from '@tocsin/core/status/monitor-clock';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Transaction } from '../database/open.ts';
import { prepared } from '../database/preparing-client.ts';
import { arrayOf, epochMs, query, together } from '../database/sql.ts';
import { HAS_BEGUN, readCovered } from '../maintenance-windows/coverage.ts';
import { REGION_STATE_COLUMNS, toRegionState } from '../monitor-regions/read-regions.ts';
import { monitorRegions } from '../monitor-regions/table.ts';

const monitorState = z.object({
  id: z.string(),
  accountId: z.string(),
  name: z.string(),
  runbookUrl: z.string().nullable(),
  /** As given; empty means the default region. */
  namedRegions: z.array(z.string()),
  status: z.enum(MONITOR_STATUSES),
  /** The status that maintenance covers; null without maintenance. */
  statusBeforeMaintenance: z.enum(['PENDING', 'UP', 'DOWN']).nullable(),
  /** Why it is DOWN, or was before maintenance. */
  errorDetail: z.string().nullable(),
  failureThreshold: z.number(),
  recoveryThreshold: z.number(),
  intervalSeconds: z.number(),
  timeoutSeconds: z.number(),
  retryIntervalSeconds: z.number().nullable(),
  revision: z.number(),
  probeRevision: z.number(),
  lastTimestamp: z.number().nullable(),
  /** The last conclusive result, in any region, or null if there is none. */
  checkedBefore: z.number().nullable(),
  /** Whether its settings may have changed since then. */
  changedSince: z.boolean(),
  now: z.number(),
  mayBeCovered: z.boolean(),
});

/** A status change of a locked monitor, with the check that caused it. */
export interface PendingChange extends DecidingCheck {
  readonly from: LockedMonitor['status'];
  readonly to: LockedMonitor['status'];
  /** Whether it makes webhook events. A silent change is stamped with the clock's last stamp. */
  readonly announced: boolean;
  /** The monitor is deleted in this transaction: its status stays, and only the end of its incident is announced. */
  readonly isDeletion?: true;
  /** The trace context of that check, if there is one. */
  readonly traceparent?: string | undefined;
}

/** A monitor whose row this transaction has locked, with what the transaction has decided so far: `writeStatuses` writes it. */
export interface LockedMonitor extends Omit<
  z.output<typeof monitorState>,
  'lastTimestamp' | 'now' | 'mayBeCovered'
> {
  readonly clock: MonitorClock;
  readonly regions: readonly RegionState[];
  /** Whether a maintenance window covers the monitor now, whether or not it already has that status. */
  readonly covered: boolean;
  /** Epoch milliseconds, or null if it is unchanged. */
  lastCheckedAt: number | null;
  /** A transaction changes the status at most once. */
  change: PendingChange | null;
  /** Whether the row has to be written. */
  touched: boolean;
}

/** Locks the monitors that are not locked and reads what decides their status. A missing one is locked by another session, or gone. */
export async function lockMonitors(
  tx: Transaction,
  ids: readonly string[],
): Promise<Map<string, LockedMonitor>> {
  const locking = query(tx, monitorState)`${prepared}
    select id, account_id, name, runbook_url, regions as named_regions, status,
      status_before_maintenance, error_detail, failure_threshold, recovery_threshold,
      interval_seconds, timeout_seconds, retry_interval_seconds, revision, probe_revision,
      ${epochMs(sql`last_checked_at`)} as checked_before, coalesce(updated_at > last_checked_at, true) as changed_since,
      ${epochMs(sql`last_timestamp`)} as last_timestamp, floor(${epochMs(sql`clock_timestamp()`)}) as now,
      exists (select from maintenance_windows w where ${HAS_BEGUN}) as may_be_covered
    from monitors where id = any(${arrayOf('uuid', ids)}) order by id
    for no key update skip locked`;
  // A statement of its own behind the lock: one that locks and reads would see the regions as they were before the lock.
  const reading = tx
    .select({ monitorId: monitorRegions.monitorId, ...REGION_STATE_COLUMNS })
    .from(monitorRegions)
    .where(sql`${prepared} ${monitorRegions.monitorId} = any(${arrayOf('uuid', ids)})`)
    .execute();
  const [rows, states] = await together(locking, reading);
  if (rows.length === 0) return new Map();
  const covered = rows.some((row) => row.mayBeCovered) ? await readCovered(tx, rows) : new Set<string>();
  const regions = new Map<string, RegionState[]>(rows.map(({ id }) => [id, []]));
  for (const row of states) regions.get(row.monitorId)?.push(toRegionState(row));
  return new Map(
    rows.map((row): [string, LockedMonitor] => {
      const clock = new MonitorClock(row.lastTimestamp, row.now);
      const state = { clock, regions: regions.get(row.id) ?? [], covered: covered.has(row.id) };
      const undecided = { lastCheckedAt: null, change: null, touched: false };
      return [row.id, Object.assign(row, state, undecided)];
    }),
  );
}

/** Gives a monitor another status. */
export function changeStatus(monitor: LockedMonitor, change: Omit<PendingChange, 'from'>): void {
  monitor.change = { ...change, from: monitor.status };
  monitor.status = change.to;
  monitor.touched = true;
}

/** Puts a monitor that is not in maintenance into it. */
export function enterMaintenance(monitor: LockedMonitor): void {
  if (monitor.status === 'MAINTENANCE') throw new Error('The monitor is already in maintenance');
  monitor.statusBeforeMaintenance = monitor.status;
  const cause = maintenanceEntry(monitor.namedRegions, monitor.regions);
  changeStatus(monitor, { to: 'MAINTENANCE', announced: true, ...cause });
}

/** Gives a monitor in maintenance the status that follows from its regions now. */
export function leaveMaintenance(monitor: LockedMonitor): void {
  const before = monitor.statusBeforeMaintenance ?? 'PENDING';
  const { to, announced, check } = decideExit(monitor, before, monitor.regions, monitor.clock.now);
  monitor.statusBeforeMaintenance = null;
  // A silent change has no webhook event to stamp. It happens now, not at the last check.
  if (!announced) monitor.clock.next();
  changeStatus(monitor, { to, announced, ...check, errorDetail: check.errorDetail ?? monitor.errorDetail });
}
