import type { WindowSchedule } from '../maintenance/occurrences.ts';

/** Makes a maintenance window of an hour in UTC by default. */
export function windowOf(
  startsAt: string,
  rrule: string | null,
  timeZone = 'UTC',
  minutes = 60,
): WindowSchedule {
  const start = new Date(startsAt);
  return { startsAt: start, endsAt: new Date(start.getTime() + minutes * 60_000), rrule, timeZone };
}
