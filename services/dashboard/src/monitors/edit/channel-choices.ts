import type { Channel, MonitorChannels } from '@tocsin/contracts/channels/channel';
import { formatSelector, matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { Labels } from '@tocsin/contracts/labels/labels';

/** Why a channel is told about a monitor, whatever the channel's list contains; null if only its list decides. */
export function coverageNote(
  { allMonitors, selector }: Pick<Channel, 'allMonitors' | 'selector'>,
  labels: Labels,
): string | null {
  if (allMonitors) return 'All monitors';
  if (selector === null || !matchesSelector(selector, labels)) return null;
  return `Matches ${formatSelector(selector) || 'all monitors'}`;
}

/** Channels that a person has added to or removed from a monitor, by their ids. */
export type ChannelChoices = Readonly<Record<string, boolean>>;

/**
 * The ids of the channels that list a monitor, with these choices.
 * @param monitorId the monitor, or the one that it is copied from; null: no channel lists it yet
 */
export function chosenChannels(
  channels: readonly Channel[],
  monitorId: string | null,
  choices: ChannelChoices,
): string[] {
  const isListed = ({ monitorIds }: Channel): boolean => monitorId !== null && monitorIds.includes(monitorId);
  return channels.filter((channel) => choices[channel.id] ?? isListed(channel)).map(({ id }) => id);
}

/** What to change so that the chosen channels list a monitor; null if nothing. @param before the channels that list it */
export function channelChange(before: readonly string[], chosen: readonly string[]): MonitorChannels | null {
  const add = chosen.filter((id) => !before.includes(id));
  const remove = before.filter((id) => !chosen.includes(id));
  return add.length === 0 && remove.length === 0 ? null : { add, remove };
}
