import type { MonitorStatus, WebhookEvent } from '@tocsin/contracts/vocabulary';

/** Returns the webhook events of a status change in order. DOWN opens an incident unless one is open, UP resolves it. */
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

/** A status change by a check is announced unless it is `PENDING` to `UP`. */
export function isAnnounced(from: MonitorStatus, to: 'UP' | 'DOWN'): boolean {
  return to === 'DOWN' || from === 'DOWN';
}
