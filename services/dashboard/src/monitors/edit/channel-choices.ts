import type { Channel, MonitorChannels } from '@tocsin/contracts/channels/channel';
import { formatSelector, matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { Labels } from '@tocsin/contracts/labels/labels';

/** Explains why a channel includes a monitor that it may not list. Null if only the list decides. */
export function coverageNote(
  { allMonitors, selector }: Pick<Channel, 'allMonitors' | 'selector'>,
  labels: Labels,
): string | null {
  if (allMonitors) return 'All monitors';
  if (selector === null || !matchesSelector(selector, labels)) return null;
  return `Matches ${formatSelector(selector) || 'all monitors'}`;
}

/** Channels that the user has added (true) or removed (false), by ID. */
export type ChannelChoices = Readonly<Record<string, boolean>>;

/**
 * IDs of the channels that list a monitor after applying the choices.
 * @param monitorId the monitor or the original of a copy, or null for a new monitor
 */
export function chosenChannels(
  channels: readonly Channel[],
  monitorId: string | null,
  choices: ChannelChoices,
): string[] {
  const isListed = ({ monitorIds }: Channel): boolean => monitorId !== null && monitorIds.includes(monitorId);
  return channels.filter((channel) => choices[channel.id] ?? isListed(channel)).map(({ id }) => id);
}

/** Returns what to change so that exactly the chosen channels list a monitor. Null if nothing changes. @param before channels that list it now */
export function channelChange(before: readonly string[], chosen: readonly string[]): MonitorChannels | null {
  const add = chosen.filter((id) => !before.includes(id));
  const remove = before.filter((id) => !chosen.includes(id));
  return add.length === 0 && remove.length === 0 ? null : { add, remove };
}
