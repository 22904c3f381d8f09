import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';

export const SHOWN_STATUSES = [...MONITOR_STATUSES, 'PAUSED'] as const;
export type ShownStatus = (typeof SHOWN_STATUSES)[number];

/** A paused monitor keeps its last status, which may no longer be true. */
export function shownStatus({ enabled, status }: Pick<MonitorOverview, 'enabled' | 'status'>): ShownStatus {
  return enabled ? status : 'PAUSED';
}
