import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Delivery } from '@tocsin/contracts/deliveries/delivery';
import type { DeliveryState, WebhookEvent } from '@tocsin/contracts/vocabulary';

export type ChannelStateName = 'working' | 'failing' | 'switched-off' | 'disabled';

type Told = Pick<Channel, 'enabled' | 'disabledReason' | 'failingSince'>;

/** `switched-off`: by people; `disabled`: by the service, which says why. */
export function channelState({ enabled, disabledReason, failingSince }: Told): ChannelStateName {
  if (!enabled) return disabledReason === null ? 'switched-off' : 'disabled';
  return failingSince === null ? 'working' : 'failing';
}

/** What a channel is told of, as `All monitors` or `3 monitors`. */
export function describeReach({
  allMonitors,
  monitorIds,
}: Pick<Channel, 'allMonitors' | 'monitorIds'>): string {
  if (allMonitors) return 'All monitors';
  if (monitorIds.length === 0) return 'No monitor yet';
  return monitorIds.length === 1 ? '1 monitor' : `${monitorIds.length} monitors`;
}

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
