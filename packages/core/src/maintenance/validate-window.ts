import { LIMITS } from '@tocsin/contracts/limits';
import {
  firstStarts,
  localLengthOf,
  nextOccurrence,
  shortestGap,
  type WindowSchedule,
} from './occurrences.ts';
import { endsByItself, isCounted, MAX_OCCURRENCES, validateRruleText } from './rrule-text.ts';

const DAY_MS = 24 * 3_600_000;
const YEAR_MS = 366 * DAY_MS;
const MAX_LENGTH_MS = LIMITS.maintenanceDays * DAY_MS;
/** Maximum distance of a window's start from now, in either direction. */
const MAX_YEARS_FROM_NOW = 10;
const MUST_REPEAT_WITHIN_YEARS = 5;
/** Occurrences to compare if the rule has no COUNT. */
const COMPARED = 60;

/** An error in a window's schedule. `path` is the field to change. */
export interface ScheduleError {
  readonly path: 'startsAt' | 'endsAt' | 'rrule' | 'timeZone';
  readonly message: string;
}

/** Accepts names of the IANA database, such as Europe/Berlin or UTC. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** Validates the fields that could be parsed, in bounded time for every rule. @param mayBePast allows a schedule that is over */
export function validateSchedule(
  schedule: Partial<WindowSchedule>,
  now: Date,
  mayBePast = false,
): ScheduleError[] {
  const { startsAt, endsAt, rrule = null, timeZone = 'UTC' } = schedule;
  const errors: ScheduleError[] = [];
  const add = (path: ScheduleError['path'], message: string): number => errors.push({ path, message });
  if (!isTimeZone(timeZone)) {
    add('timeZone', 'must be the name of a time zone in the IANA database, such as Europe/Berlin');
  }
  const textError = rrule === null ? null : validateRruleText(rrule);
  if (textError !== null) add('rrule', textError);
  if (startsAt && Math.abs(startsAt.getTime() - now.getTime()) > MAX_YEARS_FROM_NOW * YEAR_MS) {
    add('startsAt', `must be within ${MAX_YEARS_FROM_NOW} years of now`);
  }
  if (startsAt === undefined || endsAt === undefined) return errors;
  const lengthMs = endsAt.getTime() - startsAt.getTime();
  const whole: WindowSchedule = { startsAt, endsAt, rrule, timeZone };
  if (lengthMs <= 0) add('endsAt', 'must be after startsAt');
  // A month of local days is an hour longer if the clocks go back.
  if (lengthMs > MAX_LENGTH_MS && (!isTimeZone(timeZone) || localLengthOf(whole) > MAX_LENGTH_MS)) {
    add('endsAt', `must be at most ${LIMITS.maintenanceDays} days after startsAt`);
  }
  if (errors.length > 0) return errors;

  const recurrenceError = rrule === null ? null : validateRecurrence(whole, rrule);
  if (recurrenceError !== null) return [{ path: 'rrule', message: recurrenceError }];
  if (!mayBePast && nextOccurrence(whole, now) === null) {
    if (rrule === null) add('endsAt', 'must be in the future: this window is over');
    else add('rrule', 'must have an occurrence in the future: all of them are over');
  }
  return errors;
}

/** Returns the error in the occurrences of a well-formed rule, or null. */
function validateRecurrence(window: WindowSchedule, rrule: string): string | null {
  const counted = isCounted(rrule);
  let found: ReturnType<typeof firstStarts>;
  try {
    found = firstStarts(window, counted ? MAX_OCCURRENCES : COMPARED);
  } catch (error) {
    return `must be a valid RFC 5545 rule: ${error instanceof Error ? error.message : String(error)}`;
  }
  const { starts, complete } = found;
  const first = window.startsAt.getTime();
  const second = starts[1] ?? Infinity;
  if (second - first > MUST_REPEAT_WITHIN_YEARS * YEAR_MS && !(complete && endsByItself(rrule))) {
    return `must have another occurrence within ${MUST_REPEAT_WITHIN_YEARS} years after startsAt`;
  }
  if (counted && !complete) return 'has its occurrences too far apart for COUNT: use UNTIL or a higher FREQ';
  const gapMs = shortestGap(window, starts);
  if (localLengthOf(window) <= gapMs) return null;
  return `must let each occurrence end before the next one starts: endsAt must be at most ${formatSpan(gapMs)} after startsAt`;
}

function formatSpan(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const counts = { d: Math.floor(minutes / 1_440), h: Math.floor(minutes / 60) % 24, min: minutes % 60 };
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  return parts.map(([unit, count]) => `${count} ${unit}`).join(' ');
}
