import { maintenanceEntry } from '@tocsin/core/status/maintenance';
import type { LockedMonitor } from '../checks/lock-monitors.ts';
import type { StatusChange } from './record-status-changes.ts';

/** Puts a locked monitor into maintenance. @returns the change, to be recorded with the monitor in the same transaction */
export function enterMaintenance(monitor: LockedMonitor): StatusChange {
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
