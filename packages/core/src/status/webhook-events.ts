import type { MonitorStatus, WebhookEvent } from '@tocsin/contracts/vocabulary';

/**
 * The webhook events of a status change, in the order of their timestamps. DOWN opens an incident unless one is open; UP resolves it.
 * @param announced false: a silent change, such as `PENDING` to `UP`
 */
export function webhookEventsOf(
  to: MonitorStatus,
  announced: boolean,
  incidentOpen: boolean,
): readonly WebhookEvent[] {
  if (!announced || to === 'PENDING') return [];
  if (to === 'MAINTENANCE') return ['monitor.maintenance'];
  if (to === 'DOWN') return incidentOpen ? ['monitor.down'] : ['monitor.down', 'incident.created'];
  return incidentOpen ? ['monitor.up', 'incident.resolved'] : ['monitor.up'];
}

/** Whether a change that a check caused is announced: everything but `PENDING` to `UP`. */
export function isAnnounced(from: MonitorStatus, to: 'UP' | 'DOWN'): boolean {
  return to === 'DOWN' || from === 'DOWN';
}
