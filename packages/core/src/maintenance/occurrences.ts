import { RRuleTemporal } from 'rrule-temporal';
import { frequencyOf, isCounted, MOST_OCCURRENCES } from './rrule-text.ts';

/** When a window takes place; without `rrule` once. Its first occurrence is `startsAt` to `endsAt`. */
export interface WindowSchedule {
  readonly startsAt: Date;
  readonly endsAt: Date;
  /** RFC 5545 without DTSTART, which is `startsAt`; null: once. */
  readonly rrule: string | null;
  /** IANA name: occurrences start at the same local time in it. */
  readonly timeZone: string;
}

/** One time that a window takes place. */
export interface Occurrence {
  readonly startsAt: Date;
  readonly endsAt: Date;
}

/** Bounds of one question to the library, so that a rule that matches nothing ends its search soon. */
const MOST_PERIODS: Readonly<Record<string, number>> = {
  YEARLY: 60,
  MONTHLY: 400,
  WEEKLY: 400,
  DAILY: 2_000,
  HOURLY: 500,
};
const FEWEST_PERIODS = 60;
const MOST_CANDIDATES = 20_000;

/**
 * The earliest occurrence that ends after `after`: one that runs then, or the next one. Null where none is left
 * (design §4 "Maintenance"). Each lasts exactly as long as the first. A local time that does not exist on a day is left
 * out, as RFC 5545 asks; one that exists twice means the first.
 */
export function nextOccurrence(window: WindowSchedule, after: Date): Occurrence | null {
  return nextOf(window, ruleOf(window), after.getTime());
}

/** Up to `count` occurrences that end after `after`, in their order. */
export function previewOccurrences(window: WindowSchedule, count: number, after: Date): Occurrence[] {
  if (window.rrule !== null && isCounted(window.rrule)) return previewCounted(window, count, after);
  const rule = ruleOf(window);
  const found: Occurrence[] = [];
  let next = nextOf(window, rule, after.getTime());
  while (next !== null && found.length < count) {
    found.push(next);
    next = followingOf(window, rule, next);
  }
  return found;
}

/** The same for a rule with COUNT: in one pass, since each question to the library would begin at the first one. */
function previewCounted(window: WindowSchedule, count: number, after: Date): Occurrence[] {
  const lengthMs = window.endsAt.getTime() - window.startsAt.getTime();
  return firstStarts(window, MOST_OCCURRENCES)
    .starts.filter((start) => start + lengthMs > after.getTime())
    .slice(0, count)
    .map((start) => ({ startsAt: new Date(start), endsAt: new Date(start + lengthMs) }));
}

/** The occurrence after this one of the same window, also where it begins before this one has ended. */
export function followingOccurrence(window: WindowSchedule, occurrence: Occurrence): Occurrence | null {
  return followingOf(window, ruleOf(window), occurrence);
}

/**
 * The starts of the first occurrences in epoch milliseconds, at most `count` of them; `complete` is false where the search
 * came to its bounds before it had them all.
 */
export function firstStarts(
  window: WindowSchedule,
  count: number,
): { readonly starts: readonly number[]; readonly complete: boolean } {
  const rule = ruleOf(window);
  if (rule === null) return { starts: [window.startsAt.getTime()], complete: true };
  const starts: number[] = [];
  try {
    rule.all((date) => {
      starts.push(date.epochMilliseconds);
      return starts.length < count;
    });
  } catch {
    return { starts, complete: false };
  }
  return { starts, complete: true };
}

function nextOf(window: WindowSchedule, rule: RRuleTemporal | null, after: number): Occurrence | null {
  const first = window.startsAt.getTime();
  const lengthMs = window.endsAt.getTime() - first;
  if (first + lengthMs > after) return { startsAt: window.startsAt, endsAt: window.endsAt };
  return rule && startAfter(rule, after - lengthMs, lengthMs);
}

function followingOf(
  window: WindowSchedule,
  rule: RRuleTemporal | null,
  { startsAt }: Occurrence,
): Occurrence | null {
  return rule && startAfter(rule, startsAt.getTime(), window.endsAt.getTime() - window.startsAt.getTime());
}

/** The first occurrence that starts later than `time`; a search beyond its bounds finds none. */
function startAfter(rule: RRuleTemporal, time: number, lengthMs: number): Occurrence | null {
  try {
    const start = rule.next(new Date(time), false)?.epochMilliseconds;
    return start === undefined ? null : { startsAt: new Date(start), endsAt: new Date(start + lengthMs) };
  } catch {
    return null;
  }
}

function ruleOf({ rrule, startsAt, timeZone }: WindowSchedule): RRuleTemporal | null {
  if (rrule === null) return null;
  return new RRuleTemporal({
    rruleString: `RRULE:${rrule}`,
    dtstart: { timeZoneId: timeZone, toString: () => `${startsAt.toISOString()}[${timeZone}]` },
    strict: true,
    includeDtstart: true,
    cache: false,
    maxIterations: MOST_PERIODS[frequencyOf(rrule)] ?? FEWEST_PERIODS,
    maxCandidateEvaluations: MOST_CANDIDATES,
  });
}
