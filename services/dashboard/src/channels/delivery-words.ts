import type { Delivery } from '@tocsin/contracts/channel-delivery';
import type { DeliveryState, WebhookEvent } from '@tocsin/contracts/vocabulary';

export const EVENT_WORDS: Record<WebhookEvent, string> = {
  'monitor.down': 'Monitor down',
  'monitor.up': 'Monitor up',
  'monitor.maintenance': 'Maintenance began',
  'incident.created': 'Incident opened',
  'incident.resolved': 'Incident resolved',
};

export const STATE_WORDS: Record<DeliveryState, string> = {
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
  held: 'Held',
};

/** What stands where a delivery has no next attempt, and why. */
export function describeNext({ state }: Pick<Delivery, 'state'>): string {
  switch (state) {
    case 'pending':
      return 'under way';
    case 'held':
      return 'when redelivered';
    case 'failed':
    case 'delivered':
      return '–';
  }
}

/** The payload with line breaks and indents, to read; as it is where it is no JSON. */
export function prettyPayload(payload: string): string {
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch {
    return payload;
  }
}
