import type { Monitor } from '@tocsin/contracts/monitor';
import type { DashboardSystem } from '../system/dashboard-system.ts';
import { MONITOR_PLANS } from './monitor-plans.ts';

/** @returns the monitors by name; nothing checks them yet, unless a checker runs */
export async function createMonitors(dashboard: DashboardSystem): Promise<ReadonlyMap<string, Monitor>> {
  const { system, target, broken } = dashboard;
  const monitors = new Map<string, Monitor>();
  for (const [number, { name, target: wanted, regions, settings }] of MONITOR_PLANS.entries()) {
    const server = wanted === 'up' ? target : broken;
    const monitor = await system.createMonitor({
      name,
      url: server.url(`/${number}`),
      interval: 10,
      timeout: 4,
      regions,
      ...settings,
    });
    monitors.set(name, monitor);
  }
  return monitors;
}
