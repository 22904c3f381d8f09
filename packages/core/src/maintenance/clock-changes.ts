import { firstStarts, startsBetween, type WindowSchedule } from './occurrences.ts';
import { hasTimesOfDay, isCounted, repeatsByElapsedTime } from './rrule-text.ts';
import { toLocal, transitions } from './zoned-time.ts';

/** A local start time of a recurring window that a clock change in its time zone skips or repeats. */
export interface ClockChange {
  /** Without an offset, such as `2027-03-28T01:30:00`. */
  readonly localTime: string;
  /** `never`: the clocks skip this time, so the window does not take place. `twice`: the window starts the first time. */
  readonly occurs: 'never' | 'twice';
}

const DAY_MS = 24 * 3_600_000;
/** Covers a year plus the weeks by which the dates of clock changes vary. */
const LOOK_AHEAD_MS = 400 * DAY_MS;

/** Lists the clock changes that affect a window within the next 400 days. */
export function upcomingClockChanges(window: WindowSchedule, now: Date): ClockChange[] {
  return clockChanges(window, now, new Date(now.getTime() + LOOK_AHEAD_MS));
}

/** Lists the starts after `from` and before `until` that the clocks skip or repeat, in order. Empty if the search reaches its limits. */
export function clockChanges(window: WindowSchedule, from: Date, until: Date): ClockChange[] {
  const { startsAt, rrule, timeZone } = window;
  if (rrule === null || repeatsByElapsedTime(rrule)) return [];
  const localStart = toLocal(startsAt.getTime(), timeZone);
  const affected = transitions(timeZone, Math.max(from.getTime(), startsAt.getTime()), until.getTime())
    .map(({ at, before, after }) => ({
      at,
      from: at + Math.min(before, after),
      until: at + Math.max(before, after),
      occurs: after > before ? ('never' as const) : ('twice' as const),
    }))
    // Only a window that starts at an affected time of day needs its rule evaluated.
    .filter((span) => hasTimesOfDay(rrule) || isAtTimeOfDay(localStart, span));
  if (affected.length === 0) return [];
  const end = lastStart(window, rrule);
  // Evaluates the rule as if local times were UTC, which has no clock changes.
  const local = {
    startsAt: new Date(localStart),
    endsAt: new Date(localStart + 1),
    rrule: rrule.replaceAll(/(^|;)(COUNT|UNTIL)=[^;]+/g, ''),
    timeZone: 'UTC',
  };
  return affected
    .filter(({ at }) => at <= end)
    .flatMap((span) =>
      startsBetween(local, span.from, span.until).map((start) => ({
        localTime: new Date(start).toISOString().slice(0, 19),
        occurs: span.occurs,
      })),
    );
}

function isAtTimeOfDay(local: number, { from, until }: { from: number; until: number }): boolean {
  return (((local - from) % DAY_MS) + DAY_MS) % DAY_MS < until - from;
}

/** Returns the last start in epoch milliseconds, or Infinity without an end. */
function lastStart(window: WindowSchedule, rrule: string): number {
  if (isCounted(rrule)) return firstStarts(window, Infinity).starts.at(-1) ?? 0;
  const [, year, month, day, hour, minute, second] =
    /UNTIL=(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/.exec(rrule) ?? [];
  return second === undefined ? Infinity : Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}
