import { firstStarts, startsBetween, type WindowSchedule } from './occurrences.ts';
import { isCounted, repeatsByElapsedTime } from './rrule-text.ts';

/** A local start of a recurring window on a day on which the clocks of its zone change. */
export interface ClockChange {
  /** Without an offset, such as `2027-03-28T01:30:00`. */
  readonly localTime: string;
  /** `never`: the clocks skip it, and the window does not take place. `twice`: the window starts at the first. */
  readonly occurs: 'never' | 'twice';
}

const STEP_MS = 12 * 3_600_000;

/** The starts after `from` and before `until` that the clocks skip or repeat, in order. None if the search reaches its limits. */
export function clockChanges(window: WindowSchedule, from: Date, until: Date): ClockChange[] {
  const { startsAt, endsAt, rrule, timeZone } = window;
  if (rrule === null || repeatsByElapsedTime(rrule)) return [];
  const lengthMs = endsAt.getTime() - startsAt.getTime();
  const localStart = startsAt.getTime() + offsetMs(startsAt.getTime(), timeZone);
  const end = Math.min(until.getTime(), lastStart(window, rrule));
  // The rule as if local times were UTC, which has no clock changes. Its end is compared below.
  const local = {
    startsAt: new Date(localStart),
    endsAt: new Date(localStart + lengthMs),
    rrule: rrule.replaceAll(/(^|;)(COUNT|UNTIL)=[^;]+/g, ''),
    timeZone: 'UTC',
  };
  return transitions(timeZone, Math.max(from.getTime(), startsAt.getTime()), end).flatMap(
    ({ at, before, after }) =>
      startsBetween(local, at + Math.min(before, after), at + Math.max(before, after)).map((start) => ({
        localTime: new Date(start).toISOString().slice(0, 19),
        occurs: after > before ? ('never' as const) : ('twice' as const),
      })),
  );
}

/** The last start of a rule with an end, in epoch milliseconds. */
function lastStart(window: WindowSchedule, rrule: string): number {
  if (isCounted(rrule)) return firstStarts(window, Infinity).starts.at(-1) ?? 0;
  const [, year, month, day, hour, minute, second] =
    /UNTIL=(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/.exec(rrule) ?? [];
  return second === undefined ? Infinity : Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

interface Transition {
  /** The first moment after the change, in epoch milliseconds. */
  readonly at: number;
  /** Offsets from UTC in milliseconds. */
  readonly before: number;
  readonly after: number;
}

/** When the clocks of a zone change between two moments, in order. */
function transitions(zone: string, from: number, until: number): Transition[] {
  const found: Transition[] = [];
  let before = offsetMs(from, zone);
  for (let time = from; time < until; time += STEP_MS) {
    const next = Math.min(time + STEP_MS, until);
    const after = offsetMs(next, zone);
    if (after !== before) found.push({ at: firstWith(after, zone, time, next), before, after });
    before = after;
  }
  return found;
}

/** The first moment with an offset, to the millisecond. It has another one at `low`, and this one at `high`. */
function firstWith(offset: number, zone: string, low: number, high: number): number {
  if (high - low <= 1) return high;
  const middle = Math.floor((low + high) / 2);
  return offsetMs(middle, zone) === offset
    ? firstWith(offset, zone, low, middle)
    : firstWith(offset, zone, middle, high);
}

const clocks = new Map<string, Intl.DateTimeFormat>();
/** The formats that are kept. */
const MAX_CLOCKS = 600;

/** The offset of a zone from UTC at a moment, in milliseconds. */
function offsetMs(epochMs: number, zone: string): number {
  let clock = clocks.get(zone);
  // The Swedish format is close to ISO 8601: `2026-03-01 12:00:00`.
  clock ??= new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  if (clocks.size < MAX_CLOCKS) clocks.set(zone, clock);
  return Date.parse(`${clock.format(epochMs).replace(' ', 'T')}Z`) - Math.floor(epochMs / 1_000) * 1_000;
}
