import type { Channel } from '@tocsin/contracts/channel';

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
