import { RRuleTemporal } from 'rrule-temporal';
import { frequencyOf, isCounted, MAX_OCCURRENCES, repeatsByElapsedTime } from './rrule-text.ts';
import { firstMomentAt, toLocal } from './zoned-time.ts';

/** Schedule of a window, with or without recurrence. Later occurrences keep the local times of the first one, so clock changes alter their length. */
export interface WindowSchedule {
  readonly startsAt: Date;
  readonly endsAt: Date;
  /** RFC 5545 without DTSTART, which is `startsAt`. Null for a single occurrence. */
  readonly rrule: string | null;
  /** IANA zone of the local times. Hourly occurrences repeat by elapsed time. */
  readonly timeZone: string;
}

export interface Occurrence {
  readonly startsAt: Date;
  readonly endsAt: Date;
}

const MAX_PERIODS: Readonly<Record<string, number>> = {
  YEARLY: 60,
  MONTHLY: 400,
  WEEKLY: 400,
  DAILY: 2_000,
  HOURLY: 500,
};
const DEFAULT_PERIODS = 60;
const MAX_CANDIDATES = 20_000;
/** The library reports exhausted limits with this message. Any other error means that the rule is invalid. */
const EXHAUSTED = /^Maximum (iterations|candidate evaluations) /;

const DAY_MS = 24 * 3_600_000;
/** Passed occurrences are searched in spans that begin with two days and double each time. */
const FIRST_SPAN_DAYS = 2;
const MAX_SPAN_DAYS = 128;

/** Returns the running or next occurrence, or null if none is left (docs/concepts/maintenance.md). @throws for an invalid rule */
export function nextOccurrence(window: WindowSchedule, after: Date): Occurrence | null {
  return nextOf(window, ruleOf(window), after.getTime());
}

/** Returns the earliest later occurrence that ends after `after`, skipping those that have passed. */
export function followingOccurrence(
  window: WindowSchedule,
  { startsAt }: Occurrence,
  after: Date,
): Occurrence | null {
  const { endsAt } = occurrenceAt(window, startsAt.getTime());
  return nextOf(window, ruleOf(window), Math.max(after.getTime(), endsAt.getTime()));
}

/** Returns up to `count` occurrences that end after `after`, in order. */
export function previewOccurrences(window: WindowSchedule, count: number, after: Date): Occurrence[] {
  if (window.rrule !== null && isCounted(window.rrule)) {
    // One search suffices, because the library searches a rule with COUNT from its first occurrence each time.
    const all = firstStarts(window, MAX_OCCURRENCES).starts.map((start) => occurrenceAt(window, start));
    return all.filter(({ endsAt }) => endsAt > after).slice(0, count);
  }
  const rule = ruleOf(window);
  const found: Occurrence[] = [];
  let next = nextOf(window, rule, after.getTime());
  while (next !== null && found.length < count) {
    found.push(next);
    next = startAfter(window, rule, next.startsAt.getTime());
  }
  return found;
}

/** Returns when one of the occurrences first overlaps with the window, or null. */
export function firstOverlap(occurrences: readonly Occurrence[], window: WindowSchedule): Date | null {
  for (const { startsAt, endsAt } of occurrences) {
    const other = nextOccurrence(window, startsAt);
    if (other !== null && other.startsAt < endsAt) {
      return other.startsAt > startsAt ? other.startsAt : startsAt;
    }
  }
  return null;
}

/** Returns up to `count` occurrences after this one that ended by `until`, in order. After many months, only the earliest ones are found. */
export function passedOccurrences(
  window: WindowSchedule,
  { startsAt }: Occurrence,
  until: Date,
  count: number,
): Occurrence[] {
  const [from, to] = [startsAt.getTime(), until.getTime()];
  return startsWithin(window, from, to, count)
    .filter((start) => start > from && start <= to)
    .slice(0, count)
    .map((start) => occurrenceAt(window, start))
    .filter(({ endsAt }) => endsAt <= until);
}

/** Returns at least the first `count` starts in (from, to], within the limits of the search. */
function startsWithin(window: WindowSchedule, from: number, to: number, count: number): readonly number[] {
  // The library searches a rule with COUNT from its first occurrence each time.
  if (window.rrule !== null && isCounted(window.rrule)) return firstStarts(window, MAX_OCCURRENCES).starts;
  const rule = ruleOf(window);
  if (rule === null) return [];
  const starts: number[] = [];
  let reached = from;
  for (let days = FIRST_SPAN_DAYS; days <= MAX_SPAN_DAYS && reached < to; days *= 2) {
    const next = Math.min(reached + days * DAY_MS, to);
    const found = unlessExhausted(() => rule.between(new Date(reached), new Date(next + 1), false));
    if (found === null) break;
    starts.push(...found.map((date) => date.epochMilliseconds));
    if (starts.length >= count) break;
    reached = next;
  }
  return starts;
}

/** Returns the first `count` starts in epoch milliseconds. `complete` is false if the search reached its limits first. */
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

/** Returns the starts in [from, until), epoch milliseconds. Empty if the search reaches its limits. */
export function startsBetween(window: WindowSchedule, from: number, until: number): readonly number[] {
  const rule = ruleOf(window);
  const found = unlessExhausted(() => rule?.between(new Date(from - 1), new Date(until), false)) ?? [];
  return found.map((date) => date.epochMilliseconds).filter((start) => start >= from && start < until);
}

function zoneOf({ rrule, timeZone }: WindowSchedule): string {
  return rrule !== null && repeatsByElapsedTime(rrule) ? 'UTC' : timeZone;
}

/** Returns the time from local start to local end in milliseconds. */
export function localLengthOf(window: WindowSchedule): number {
  const [start, end] = [window.startsAt.getTime(), window.endsAt.getTime()];
  const length = toLocal(end, zoneOf(window)) - toLocal(start, zoneOf(window));
  // While the clocks go back, the local end can be before the local start.
  return length > 0 ? length : end - start;
}

/** Returns the shortest local time between consecutive starts, in milliseconds. */
export function shortestGap(window: WindowSchedule, starts: readonly number[]): number {
  const local = starts.map((start) => toLocal(start, zoneOf(window)));
  return Math.min(...local.map((start, index) => (local[index + 1] ?? Infinity) - start));
}

function occurrenceAt(window: WindowSchedule, start: number): Occurrence {
  if (start === window.startsAt.getTime()) return { startsAt: window.startsAt, endsAt: window.endsAt };
  const zone = zoneOf(window);
  const endsAt = firstMomentAt(toLocal(start, zone) + localLengthOf(window), zone);
  return { startsAt: new Date(start), endsAt: new Date(endsAt) };
}

function nextOf(window: WindowSchedule, rule: RRuleTemporal | null, after: number): Occurrence | null {
  const { startsAt, endsAt } = window;
  if (endsAt.getTime() > after) return { startsAt, endsAt };
  const zone = zoneOf(window);
  // Occurrences that start earlier have ended by `after`. After a clock change, the first one found may have ended too.
  const earliest = firstMomentAt(toLocal(after, zone) - localLengthOf(window), zone);
  let next = startAfter(window, rule, earliest - 1);
  while (next !== null && next.endsAt.getTime() <= after) {
    next = startAfter(window, rule, next.startsAt.getTime());
  }
  return next;
}

/** Returns the first occurrence that starts after `time`. Also null if the search reaches its limits. */
function startAfter(window: WindowSchedule, rule: RRuleTemporal | null, time: number): Occurrence | null {
  const start = unlessExhausted(() => rule?.next(new Date(time), false))?.epochMilliseconds;
  return start === undefined ? null : occurrenceAt(window, start);
}

/** Returns null if the search reached its limits. @throws any other error */
function unlessExhausted<Found>(search: () => Found): Found | null {
  try {
    return search();
  } catch (error) {
    if (error instanceof Error && EXHAUSTED.test(error.message)) return null;
    throw error;
  }
}

function ruleOf(window: WindowSchedule): RRuleTemporal | null {
  const { rrule, startsAt } = window;
  if (rrule === null) return null;
  // In a zone with summer time the library skips the repeated hour.
  const zone = zoneOf(window);
  return new RRuleTemporal({
    rruleString: `RRULE:${rrule}`,
    dtstart: { timeZoneId: zone, toString: () => `${startsAt.toISOString()}[${zone}]` },
    strict: true,
    includeDtstart: true,
    cache: false,
    maxIterations: MAX_PERIODS[frequencyOf(rrule)] ?? DEFAULT_PERIODS,
    maxCandidateEvaluations: MAX_CANDIDATES,
  });
}

/**
 * Ends the current occurrence at `now`. The schedule then begins with the next one, because moving the end would shorten all later ones.
 */
export function endOccurrence(window: WindowSchedule, current: Occurrence, now: Date): WindowSchedule {
  const next = followingOccurrence(window, current, now);
  if (next !== null) return { ...window, ...next, rrule: withRemainingCount(window, next) };
  const soonest = current.startsAt.getTime() + 1;
  const endsAt = new Date(Math.max(now.getTime(), soonest));
  return { ...window, startsAt: current.startsAt, endsAt, rrule: null };
}

/** COUNT is relative to the first occurrence, which has changed. */
function withRemainingCount(window: WindowSchedule, { startsAt }: Occurrence): string | null {
  const { rrule } = window;
  if (rrule === null || !isCounted(rrule)) return rrule;
  const { starts } = firstStarts(window, MAX_OCCURRENCES);
  const left = starts.filter((start) => start >= startsAt.getTime()).length;
  return rrule.replace(/COUNT=\+?\d+/, `COUNT=${Math.max(1, left)}`);
}
