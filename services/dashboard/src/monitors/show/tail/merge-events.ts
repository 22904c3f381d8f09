import type { Event } from '@tocsin/contracts/monitors/events';

/** The tail shows at most so many. */
export const MOST_EVENTS = 200;

/**
 * The events of one monitor, newest first, each once, at most `MOST_EVENTS`. Events that were there stay the same objects, and the
 * list itself does where nothing is added.
 * @param more in any order
 */
export function mergeEvents(events: readonly Event[], more: readonly Event[]): readonly Event[] {
  const known = new Set(events.map(({ id }) => id));
  const added = more.filter(({ id }) => !known.has(id) && known.add(id));
  if (added.length === 0) return events;
  return [...events, ...added].sort(newestFirst).slice(0, MOST_EVENTS);
}

/** Timestamps of the API are all of one form, so that text compares as time. */
function newestFirst(one: Event, other: Event): number {
  if (one.timestamp === other.timestamp) return 0;
  return one.timestamp < other.timestamp ? 1 : -1;
}

/** The latest timestamp of events in any order; null without any. */
export function latestTimestamp(events: readonly Event[]): string | null {
  let latest: string | null = null;
  for (const { timestamp } of events) if (latest === null || timestamp > latest) latest = timestamp;
  return latest;
}

/** How many of `events` are later than all of `shown`; both newest first. */
export function countNewer(events: readonly Event[], shown: readonly Event[]): number {
  const newest = shown[0]?.timestamp;
  return newest === undefined ? events.length : events.filter(({ timestamp }) => timestamp > newest).length;
}
