import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { MonitorState, RegionState } from './apply-check.ts';
import { type DecidingCheck, type HiddenStatus, maintenanceEntry, maintenanceExit } from './maintenance.ts';
import type { MonitorClock } from './monitor-clock.ts';

export interface PendingChange extends DecidingCheck {
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  /** False for a silent change, which has no webhook events and gets the clock's last timestamp. */
  readonly announced: boolean;
  /** True if the monitor is being deleted. Its status stays, and only the end of its incident is announced. */
  readonly isDeletion?: true;
  /** Trace context of that check, if there is one. */
  readonly traceparent?: string | undefined;
}

/** A monitor under its row lock, with the changes decided so far. */
export interface MonitorDraft extends MonitorState {
  readonly id: string;
  readonly clock: MonitorClock;
  readonly revision: number;
  readonly regions: readonly RegionState[];
  /** Regions as the user named them. Empty for the default region. */
  readonly namedRegions: readonly string[];
  /** True if a maintenance window covers the monitor now, even if it is not in maintenance yet. */
  readonly covered: boolean;
  readonly retryIntervalSeconds: number | null;
  /** Why the monitor is DOWN, or was DOWN before maintenance. */
  readonly errorDetail: string | null;
  /** Last conclusive result in any region before this transaction, epoch milliseconds, or null. */
  readonly checkedBefore: number | null;
  /** True if its settings may have changed since `checkedBefore`. */
  readonly changedSince: boolean;
  status: MonitorStatus;
  /** The status that maintenance hides. Null outside maintenance. */
  statusBeforeMaintenance: HiddenStatus | null;
  /** Epoch milliseconds, or null if unchanged. */
  lastCheckedAt: number | null;
  /** A transaction changes the status at most once. */
  change: PendingChange | null;
  /** True if the row has to be written. */
  isChanged: boolean;
}

export function changeStatus(monitor: MonitorDraft, change: Omit<PendingChange, 'from'>): void {
  monitor.change = { ...change, from: monitor.status };
  monitor.status = change.to;
  monitor.isChanged = true;
}

export function enterMaintenance(monitor: MonitorDraft): void {
  if (monitor.status === 'MAINTENANCE') throw new Error('The monitor is already in maintenance');
  monitor.statusBeforeMaintenance = monitor.status;
  const cause = maintenanceEntry(monitor.namedRegions, monitor.regions);
  changeStatus(monitor, { to: 'MAINTENANCE', announced: true, ...cause });
}

export function leaveMaintenance(monitor: MonitorDraft): void {
  const before = monitor.statusBeforeMaintenance ?? 'PENDING';
  const { to, announced, check } = maintenanceExit(monitor, before, monitor.regions, monitor.clock.now);
  monitor.statusBeforeMaintenance = null;
  // No webhook event of a silent change takes a timestamp, so the change takes one itself. It happens now, not at the last check.
  if (!announced) monitor.clock.next();
  changeStatus(monitor, { to, announced, ...check, errorDetail: check.errorDetail ?? monitor.errorDetail });
}
