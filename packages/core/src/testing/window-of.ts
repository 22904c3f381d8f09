import type { WindowSchedule } from '../maintenance/occurrences.ts';

/** A maintenance window that begins at this time; by default of an hour, in UTC. */
export function windowOf(
  startsAt: string,
  rrule: string | null,
  timeZone = 'UTC',
  minutes = 60,
): WindowSchedule {
  const start = new Date(startsAt);
  return { startsAt: start, endsAt: new Date(start.getTime() + minutes * 60_000), rrule, timeZone };
}
