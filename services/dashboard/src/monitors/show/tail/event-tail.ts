import type { Event } from '@tocsin/contracts/monitors/events';

export const MAX_EVENTS = 200;

/**
 * Adds events to a list, newest first, without duplicates, up to `MAX_EVENTS`. Returns the same list if there are no new events.
 * @param more in any order
 */
export function mergeEvents(events: readonly Event[], more: readonly Event[]): readonly Event[] {
  const known = new Set(events.map(({ id }) => id));
  const added = more.filter(({ id }) => !known.has(id) && known.add(id));
  if (added.length === 0) return events;
  return [...events, ...added].sort(newestFirst).slice(0, MAX_EVENTS);
}

/** Timestamps of the API can be compared as text, because they have one format. */
function newestFirst(one: Event, other: Event): number {
  if (one.timestamp === other.timestamp) return 0;
  return one.timestamp < other.timestamp ? 1 : -1;
}

/** Counts events that are later than all of `shown`. Both lists are newest first. */
export function countNewer(events: readonly Event[], shown: readonly Event[]): number {
  const newest = shown[0]?.timestamp;
  return newest === undefined ? events.length : events.filter(({ timestamp }) => timestamp > newest).length;
}
