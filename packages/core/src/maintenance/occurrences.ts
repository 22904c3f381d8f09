import { RRuleTemporal } from 'rrule-temporal';
import { frequencyOf, isCounted, MOST_OCCURRENCES, repeatsByElapsedTime } from './rrule-text.ts';

/** When a window takes place; without `rrule` once. Its first occurrence is `startsAt` to `endsAt`. */
export interface WindowSchedule {
  readonly startsAt: Date;
  readonly endsAt: Date;
  /** RFC 5545 without DTSTART, which is `startsAt`; null: once. */
  readonly rrule: string | null;
  /** IANA name: occurrences start at the same local time in it, hourly ones by elapsed time. */
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
/** How the library says that a search came to those bounds; anything else is an error of the rule. */
const EXHAUSTED = /^Maximum (iterations|candidate evaluations) /;

const DAY_MS = 24 * 3_600_000;
/** Where to look for the occurrences of a past of unknown length: first in so many days, then in twice as many, and so on. */
const FIRST_SPAN_DAYS = 2;
const LONGEST_SPAN_DAYS = 128;

/**
 * The earliest occurrence that ends after `after`: one that runs then, or the next one. Null where none is left
 * (design §4 "Maintenance"). Each lasts exactly as long as the first. A local time that does not exist on a day is left
 * out, as RFC 5545 asks; one that exists twice means the first. Every so many hours means elapsed time.
 * @throws what the library has against a rule that `windowProblems` would refuse
 */
export function nextOccurrence(window: WindowSchedule, after: Date): Occurrence | null {
  return nextOf(window, ruleOf(window), after.getTime());
}

/** The earliest occurrence later than this one that ends after `after`: what passed meanwhile is jumped over. */
export function followingOccurrence(
  window: WindowSchedule,
  { startsAt }: Occurrence,
  after: Date,
): Occurrence | null {
  const lengthMs = window.endsAt.getTime() - window.startsAt.getTime();
  return nextOf(window, ruleOf(window), Math.max(after.getTime(), startsAt.getTime() + lengthMs));
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

/** When one of these occurrences and the window first run together; null if they never do. */
export function firstOverlap(occurrences: readonly Occurrence[], window: WindowSchedule): Date | null {
  for (const { startsAt, endsAt } of occurrences) {
    const other = nextOccurrence(window, startsAt);
    if (other !== null && other.startsAt < endsAt) {
      return other.startsAt > startsAt ? other.startsAt : startsAt;
    }
  }
  return null;
}

/** The same for a rule with COUNT: in one pass, since each question to the library would begin at the first one. */
function previewCounted(window: WindowSchedule, count: number, after: Date): Occurrence[] {
  const lengthMs = window.endsAt.getTime() - window.startsAt.getTime();
  return firstStarts(window, MOST_OCCURRENCES)
    .starts.filter((start) => start + lengthMs > after.getTime())
    .slice(0, count)
    .map((start) => ({ startsAt: new Date(start), endsAt: new Date(start + lengthMs) }));
}

/**
 * The occurrences after this one that were over by `until`, in their order: at most `count`, and of a past of many months only the
 * first of them. One pass, however far back it begins.
 */
export function passedOccurrences(
  window: WindowSchedule,
  { startsAt }: Occurrence,
  until: Date,
  count: number,
): Occurrence[] {
  const lengthMs = window.endsAt.getTime() - window.startsAt.getTime();
  const [from, to] = [startsAt.getTime(), until.getTime() - lengthMs];
  return startsWithin(window, from, to, count)
    .filter((start) => start > from && start <= to)
    .slice(0, count)
    .map((start) => ({ startsAt: new Date(start), endsAt: new Date(start + lengthMs) }));
}

/** At least the first `count` starts after `from` and up to `to`, as far as the search comes. */
function startsWithin(window: WindowSchedule, from: number, to: number, count: number): readonly number[] {
  // Each question to the library about a rule with COUNT begins at its first occurrence.
  if (window.rrule !== null && isCounted(window.rrule)) return firstStarts(window, MOST_OCCURRENCES).starts;
  const rule = ruleOf(window);
  if (rule === null) return [];
  const starts: number[] = [];
  let reached = from;
  for (let days = FIRST_SPAN_DAYS; days <= LONGEST_SPAN_DAYS && reached < to; days *= 2) {
    const next = Math.min(reached + days * DAY_MS, to);
    const found = startsBetween(rule, reached, next);
    if (found === null) break;
    starts.push(...found);
    if (starts.length >= count) break;
    reached = next;
  }
  return starts;
}

/** The starts after `from` up to `to`; null where the search came to its bounds. */
function startsBetween(rule: RRuleTemporal, from: number, to: number): number[] | null {
  return unlessExhausted(() =>
    rule.between(new Date(from), new Date(to + 1), false).map((date) => date.epochMilliseconds),
  );
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
  const complete = unlessExhausted(() => {
    rule.all((date) => {
      starts.push(date.epochMilliseconds);
      return starts.length < count;
    });
    return true;
  });
  return { starts, complete: complete === true };
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
  const start = unlessExhausted(() => rule.next(new Date(time), false))?.epochMilliseconds;
  return start === undefined ? null : { startsAt: new Date(start), endsAt: new Date(start + lengthMs) };
}

/** What the search finds, or null where it came to its bounds. @throws whatever else the library has against the rule */
function unlessExhausted<Found>(search: () => Found): Found | null {
  try {
    return search();
  } catch (error) {
    if (error instanceof Error && EXHAUSTED.test(error.message)) return null;
    throw error;
  }
}

function ruleOf({ rrule, startsAt, timeZone }: WindowSchedule): RRuleTemporal | null {
  if (rrule === null) return null;
  // In a zone with summer time the library leaves out the second pass of the hour that is repeated.
  const zone = repeatsByElapsedTime(rrule) ? 'UTC' : timeZone;
  return new RRuleTemporal({
    rruleString: `RRULE:${rrule}`,
    dtstart: { timeZoneId: zone, toString: () => `${startsAt.toISOString()}[${zone}]` },
    strict: true,
    includeDtstart: true,
    cache: false,
    maxIterations: MOST_PERIODS[frequencyOf(rrule)] ?? FEWEST_PERIODS,
    maxCandidateEvaluations: MOST_CANDIDATES,
  });
}

/**
 * The schedule of a window whose occurrence that runs ends at `now`: it begins with the next one, as long as before and in its number,
 * and where none is left it was this one alone. An end that comes sooner would shorten every later one too.
 */
export function endOccurrence(window: WindowSchedule, current: Occurrence, now: Date): WindowSchedule {
  const next = followingOccurrence(window, current, now);
  if (next !== null) return { ...window, ...next, rrule: withWhatIsLeft(window, next) };
  const soonest = current.startsAt.getTime() + 1;
  const endsAt = new Date(Math.max(now.getTime(), soonest));
  return { ...window, startsAt: current.startsAt, endsAt, rrule: null };
}

/** COUNT counts from the first occurrence on, which is now another one. */
function withWhatIsLeft(window: WindowSchedule, { startsAt }: Occurrence): string | null {
  const { rrule } = window;
  if (rrule === null || !isCounted(rrule)) return rrule;
  const { starts } = firstStarts(window, MOST_OCCURRENCES);
  const left = starts.filter((start) => start >= startsAt.getTime()).length;
  return rrule.replace(/COUNT=\+?\d+/, `COUNT=${Math.max(1, left)}`);
}
