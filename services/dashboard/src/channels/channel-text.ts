import type { Channel } from '@tocsin/contracts/channels/channel';
import type { DeliveryState, WebhookEvent } from '@tocsin/contracts/vocabulary';

export type ChannelState = 'working' | 'failing' | 'switched-off' | 'disabled';

export const EVENT_LABELS: Record<WebhookEvent, string> = {
  'monitor.down': 'Monitor down',
  'monitor.up': 'Monitor up',
  'monitor.maintenance': 'Maintenance started',
  'incident.created': 'Incident opened',
  'incident.resolved': 'Incident resolved',
};

/** `switched-off` means disabled by a person. `disabled` means disabled by Tocsin, which records the reason. */
export function channelState({
  enabled,
  disabledReason,
  failingSince,
}: Pick<Channel, 'enabled' | 'disabledReason' | 'failingSince'>): ChannelState {
  if (!enabled) return disabledReason === null ? 'switched-off' : 'disabled';
  return failingSince === null ? 'working' : 'failing';
}

/** Formats as `All events` or `Monitor down, Monitor up`. @param events null for all */
export function describeEvents(events: readonly WebhookEvent[] | null): string {
  return events === null ? 'All events' : events.map((event) => EVENT_LABELS[event]).join(', ');
}

/** Shown if there is no time of a next attempt. */
export const NO_NEXT_ATTEMPT: Record<DeliveryState, string> = {
  pending: 'In progress',
  delivered: '–',
  failed: '–',
  held: 'When redelivered',
};

/** Indents JSON. Other payloads stay unchanged. */
export function prettyPayload(payload: string): string {
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch {
    return payload;
  }
}
