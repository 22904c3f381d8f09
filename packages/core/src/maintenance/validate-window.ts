import { firstStarts, nextOccurrence, type WindowSchedule } from './occurrences.ts';
import { endsByItself, isCounted, MOST_OCCURRENCES, rruleTextProblem } from './rrule-text.ts';

const DAY_MS = 24 * 3_600_000;
const LONGEST_OCCURRENCE_DAYS = 30;
/** How far from now a window may begin, in either direction. */
const MOST_YEARS_AWAY = 10;
/** A rule without an end must repeat within this time. */
const MUST_REPEAT_WITHIN_YEARS = 5;
const YEAR_MS = 366 * DAY_MS;
/** Occurrences of a rule without COUNT that are compared with each other. */
const COMPARED = 60;

/** Something wrong with a window's schedule; `path` is the field to change. */
export interface WindowProblem {
  readonly path: 'startsAt' | 'endsAt' | 'rrule' | 'timeZone';
  readonly message: string;
}

/** Whether this is the name of a time zone in the IANA database, such as Europe/Berlin or UTC. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * Everything that is wrong with a schedule, given what of it could be read (design §4 "Maintenance"). Bounded in time
 * whatever the rule says.
 * @param mayBePast whether all of it may be over
 */
export function windowProblems(
  schedule: Partial<WindowSchedule>,
  now: Date,
  mayBePast = false,
): WindowProblem[] {
  const { startsAt, endsAt, rrule = null, timeZone = 'UTC' } = schedule;
  const problems: WindowProblem[] = [];
  const add = (path: WindowProblem['path'], message: string): number => problems.push({ path, message });
  if (!isTimeZone(timeZone)) {
    add('timeZone', 'must be the name of a time zone in the IANA database, such as Europe/Berlin');
  }
  const ruleProblem = rrule === null ? null : rruleTextProblem(rrule);
  if (ruleProblem !== null) add('rrule', ruleProblem);
  if (startsAt && Math.abs(startsAt.getTime() - now.getTime()) > MOST_YEARS_AWAY * YEAR_MS) {
    add('startsAt', `must be within ${MOST_YEARS_AWAY} years of now`);
  }
  if (startsAt === undefined || endsAt === undefined) return problems;
  const lengthMs = endsAt.getTime() - startsAt.getTime();
  if (lengthMs <= 0) add('endsAt', 'must be after startsAt');
  if (lengthMs > LONGEST_OCCURRENCE_DAYS * DAY_MS) {
    add('endsAt', `must be at most ${LONGEST_OCCURRENCE_DAYS} days after startsAt`);
  }
  if (problems.length > 0) return problems;

  const whole: WindowSchedule = { startsAt, endsAt, rrule, timeZone };
  if (rrule !== null) {
    const message = recurrenceProblem(whole, rrule);
    if (message !== null) return [{ path: 'rrule', message }];
  }
  if (!mayBePast && nextOccurrence(whole, now) === null) {
    if (rrule === null) add('endsAt', 'must be in the future: this window is over');
    else add('rrule', 'must have an occurrence that is still to come: all of them are over');
  }
  return problems;
}

/** What the occurrences of a well-formed rule get wrong. */
function recurrenceProblem(window: WindowSchedule, rrule: string): string | null {
  const counted = isCounted(rrule);
  const found = readStarts(window, counted ? MOST_OCCURRENCES : COMPARED);
  if (typeof found === 'string') return found;
  const { starts, complete } = found;
  const first = window.startsAt.getTime();
  const second = starts[1] ?? Infinity;
  if (second - first > MUST_REPEAT_WITHIN_YEARS * YEAR_MS && !(complete && endsByItself(rrule))) {
    return `must have an occurrence within ${MUST_REPEAT_WITHIN_YEARS} years after startsAt`;
  }
  if (counted && !complete) return 'has its occurrences too far apart for COUNT: use UNTIL or a higher FREQ';
  const lengthMs = window.endsAt.getTime() - first;
  const tight = starts.findIndex((start, index) => (starts[index + 1] ?? Infinity) - start < lengthMs);
  if (tight === -1) return null;
  const [one, next] = [starts[tight] ?? first, starts[tight + 1] ?? first];
  return (
    `must leave time for each occurrence: the one at ${new Date(one).toISOString()} would still run when ` +
    `the next starts, at ${new Date(next).toISOString()}`
  );
}

/** The first starts, or what the library has against the rule. */
function readStarts(window: WindowSchedule, count: number): ReturnType<typeof firstStarts> | string {
  try {
    return firstStarts(window, count);
  } catch (error) {
    return `must be a valid RFC 5545 rule: ${error instanceof Error ? error.message : String(error)}`;
  }
}
