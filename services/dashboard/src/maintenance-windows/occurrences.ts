import { RRuleTemporal } from 'rrule-temporal';

/** When a window takes place: ISO 8601, and a rule without DTSTART where it recurs. */
export interface Schedule {
  readonly startsAt: string;
  readonly endsAt: string;
  readonly rrule: string | null;
  readonly timeZone: string;
}

export interface Occurrence {
  readonly startsAt: string;
  readonly endsAt: string;
}

/** What the server bounds too, so that a rule that matches nothing does not hold up the page. */
const MOST_PERIODS: Readonly<Record<string, number>> = {
  YEARLY: 60,
  MONTHLY: 400,
  WEEKLY: 400,
  DAILY: 2_000,
  HOURLY: 500,
};
const MOST_CANDIDATES = 20_000;
const MOST_COUNTED = 366;
const EXHAUSTED = /^Maximum (iterations|candidate evaluations) /;

/**
 * The next occurrences that end after a moment, as the server will have them.
 * @throws what is wrong with the rule, in words
 */
export function nextOccurrences(schedule: Schedule, count: number, afterMs: number): Occurrence[] {
  const find = finderOf(schedule);
  const found: Occurrence[] = [];
  let after = afterMs;
  while (found.length < count) {
    const next = find(after);
    if (next === null) break;
    found.push(next);
    // One that would still run when the next starts is refused by the server; here it only must not come twice.
    after = Math.max(Date.parse(next.endsAt), Date.parse(next.startsAt) + 1);
  }
  return found;
}

/** The first occurrence that would still run when the next starts, among the next few; null where there is time between. */
export function tightOccurrence(schedule: Schedule, afterMs: number): Occurrence | null {
  const lengthMs = Date.parse(schedule.endsAt) - Date.parse(schedule.startsAt);
  // Seen as moments, none hides the one that starts while it runs.
  const instants = nextOccurrences({ ...schedule, endsAt: oneMsAfter(schedule.startsAt) }, 30, afterMs);
  const tight = instants.find(({ startsAt }, index) => {
    const next = instants[index + 1];
    return next !== undefined && Date.parse(next.startsAt) - Date.parse(startsAt) < lengthMs;
  });
  return tight === undefined ? null : occurrenceAt(Date.parse(tight.startsAt), lengthMs);
}

/** @returns what finds the earliest occurrence that ends after a moment; null where none is left */
export function finderOf(schedule: Schedule): (afterMs: number) => Occurrence | null {
  const first = Date.parse(schedule.startsAt);
  const lengthMs = Date.parse(schedule.endsAt) - first;
  const rule = schedule.rrule === null ? null : ruleOf(schedule);
  // Each question to the library about a rule with COUNT begins at its first occurrence: ask once.
  const counted = rule !== null && /(^|;)COUNT=/.test(schedule.rrule ?? '') ? countedStarts(rule) : null;
  return (afterMs) => {
    if (first + lengthMs > afterMs) return occurrenceAt(first, lengthMs);
    const start =
      counted === null
        ? rule && startAfter(rule, afterMs - lengthMs)
        : counted.find((one) => one + lengthMs > afterMs);
    return start === null || start === undefined ? null : occurrenceAt(start, lengthMs);
  };
}

function startAfter(rule: RRuleTemporal, afterMs: number): number | null {
  try {
    return rule.next(new Date(afterMs), false)?.epochMilliseconds ?? null;
  } catch (error) {
    if (error instanceof Error && EXHAUSTED.test(error.message)) return null;
    throw error;
  }
}

function countedStarts(rule: RRuleTemporal): readonly number[] {
  const starts: number[] = [];
  try {
    rule.all((date) => {
      starts.push(date.epochMilliseconds);
      return starts.length < MOST_COUNTED;
    });
  } catch (error) {
    if (!(error instanceof Error && EXHAUSTED.test(error.message))) throw error;
  }
  return starts;
}

function ruleOf({ rrule, startsAt, timeZone }: Schedule): RRuleTemporal {
  const frequency = /(?:^|;)FREQ=(\w+)/.exec(rrule ?? '')?.[1] ?? '';
  const maxIterations = MOST_PERIODS[frequency];
  if (maxIterations === undefined)
    throw new Error(`FREQ must be one of ${Object.keys(MOST_PERIODS).join(', ')}`);
  // Every so many hours is elapsed time, whatever the clocks do.
  const zone = frequency === 'HOURLY' && !/(^|;)BY/.test(rrule ?? '') ? 'UTC' : timeZone;
  return new RRuleTemporal({
    rruleString: `RRULE:${rrule}`,
    dtstart: { timeZoneId: zone, toString: () => `${new Date(startsAt).toISOString()}[${zone}]` },
    strict: true,
    includeDtstart: true,
    cache: false,
    maxIterations,
    maxCandidateEvaluations: MOST_CANDIDATES,
  });
}

function occurrenceAt(startMs: number, lengthMs: number): Occurrence {
  return { startsAt: new Date(startMs).toISOString(), endsAt: new Date(startMs + lengthMs).toISOString() };
}

function oneMsAfter(iso: string): string {
  return new Date(Date.parse(iso) + 1).toISOString();
}
