/** What may stand in a window's RRULE (RFC 5545 section 3.3.10), and how much of it, so that no rule is costly to evaluate. */
const FREQUENCIES = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY'] as const;
type Frequency = (typeof FREQUENCIES)[number];
const MOST_CHARACTERS = 500;
export const MOST_OCCURRENCES = 366;
const LONGEST_INTERVAL = 1_000;
/** Times of day that one rule may name: BYHOUR values times BYMINUTE values, which the days of a period multiply. */
const MOST_TIMES_OF_DAY = { YEARLY: 2, MONTHLY: 4, WEEKLY: 24, DAILY: 24, HOURLY: 24 };
const MOST_VALUES = 60;

const WEEKDAY = /^([+-]?[1-9]\d?)?(MO|TU|WE|TH|FR|SA|SU)$/;

type PartCheck = (value: string) => string | null;

const PARTS: Readonly<Record<string, PartCheck>> = {
  FREQ: (value) =>
    FREQUENCIES.some((frequency) => frequency === value)
      ? null
      : `FREQ must be one of ${FREQUENCIES.join(', ')}: maintenance does not repeat within an hour`,
  INTERVAL: (value) => numberProblem('INTERVAL', value, 1, LONGEST_INTERVAL),
  COUNT: (value) => numberProblem('COUNT', value, 1, MOST_OCCURRENCES),
  UNTIL: (value) =>
    isUtcDateTime(value) ? null : 'UNTIL must be a date and time in UTC, such as 20261231T235959Z',
  WKST: (value) => (/^(MO|TU|WE|TH|FR|SA|SU)$/.test(value) ? null : 'WKST must be a weekday, such as MO'),
  BYDAY: (value) =>
    listProblem('BYDAY', value, (one) => WEEKDAY.test(one), 'weekdays such as MO, 2TU or -1FR'),
  BYMONTH: (value) => numbersProblem('BYMONTH', value, 1, 12),
  BYMONTHDAY: (value) => numbersProblem('BYMONTHDAY', value, -31, 31),
  BYYEARDAY: (value) => numbersProblem('BYYEARDAY', value, -366, 366),
  BYWEEKNO: (value) => numbersProblem('BYWEEKNO', value, -53, 53),
  BYHOUR: (value) => numbersProblem('BYHOUR', value, 0, 23),
  BYMINUTE: (value) => numbersProblem('BYMINUTE', value, 0, 59),
  BYSETPOS: (value) => numbersProblem('BYSETPOS', value, -366, 366),
};

/** Parts that would make an hourly rule step through years of hours; a daily rule says the same at once. */
const NOT_HOURLY = ['BYMONTH', 'BYMONTHDAY', 'BYYEARDAY', 'BYWEEKNO', 'BYSETPOS'];

/** What is wrong with the text of a window's RRULE, or null. What it yields is judged by `windowProblems`. */
export function rruleTextProblem(text: string): string | null {
  if (text.length > MOST_CHARACTERS) return `must be at most ${MOST_CHARACTERS} characters`;
  if (/DTSTART|DTEND|TZID|\n/i.test(text)) {
    return 'must hold the rule only: the start is `startsAt`, the zone is `timeZone`';
  }
  const parts = new Map<string, string>();
  for (const part of text.split(';')) {
    const [, name, value] = /^([A-Z]+)=([^=]+)$/.exec(part) ?? [];
    if (name === undefined || value === undefined) {
      return 'must be an RFC 5545 rule in capitals, such as FREQ=WEEKLY;BYDAY=SA';
    }
    if (parts.has(name)) return `must not give ${name} twice`;
    const check = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
    if (check === undefined) return `must not use ${name}; known parts: ${Object.keys(PARTS).join(', ')}`;
    const problem = check(value);
    if (problem !== null) return problem;
    parts.set(name, value);
  }
  return combinationProblem(parts);
}

/** The FREQ of a rule that is well-formed. */
export function frequencyOf(rrule: string): string {
  return /(?:^|;)FREQ=(\w+)/.exec(rrule)?.[1] ?? '';
}

/** Whether a rule that is well-formed says "every so many hours" and names no local time, so that no clock change concerns it. */
export function repeatsByElapsedTime(rrule: string): boolean {
  return frequencyOf(rrule) === 'HOURLY' && !/(^|;)BY/.test(rrule);
}

/** Whether a rule that is well-formed counts its occurrences, which makes finding one of them find all before it. */
export function isCounted(rrule: string): boolean {
  return /(^|;)COUNT=/.test(rrule);
}

/** Whether a rule that is well-formed says by itself when it ends. */
export function endsByItself(rrule: string): boolean {
  return /(^|;)(COUNT|UNTIL)=/.test(rrule);
}

function combinationProblem(parts: ReadonlyMap<string, string>): string | null {
  const frequency = parts.get('FREQ') as Frequency | undefined;
  if (frequency === undefined) return 'must give FREQ, such as FREQ=WEEKLY';
  if (parts.has('COUNT') && parts.has('UNTIL')) return 'must not give both COUNT and UNTIL';
  const times = countValues(parts.get('BYHOUR')) * countValues(parts.get('BYMINUTE'));
  const mostTimes = parts.has('BYSETPOS') ? 1 : MOST_TIMES_OF_DAY[frequency];
  if (times > mostTimes) {
    return `must not name more than ${mostTimes} times of day with FREQ=${frequency}${parts.has('BYSETPOS') ? ' and BYSETPOS' : ''}`;
  }
  const odd = NOT_HOURLY.find((name) => frequency === 'HOURLY' && parts.has(name));
  if (odd !== undefined) return `${odd} does not go with FREQ=HOURLY: use FREQ=DAILY with BYHOUR`;
  const numbered = /\d/.test(parts.get('BYDAY') ?? '');
  if (numbered && frequency !== 'MONTHLY' && frequency !== 'YEARLY') {
    return 'BYDAY may carry a number only with FREQ=MONTHLY or YEARLY';
  }
  if (numbered && parts.has('BYWEEKNO')) return 'BYDAY may not carry a number beside BYWEEKNO';
  if (parts.has('BYWEEKNO') && frequency !== 'YEARLY') return 'BYWEEKNO goes with FREQ=YEARLY only';
  if (parts.has('BYYEARDAY') && frequency !== 'YEARLY') return 'BYYEARDAY goes with FREQ=YEARLY only';
  if (parts.has('BYMONTHDAY') && frequency === 'WEEKLY') return 'BYMONTHDAY does not go with FREQ=WEEKLY';
  const others = [...parts.keys()].some((name) => name.startsWith('BY') && name !== 'BYSETPOS');
  if (parts.has('BYSETPOS') && !others) return 'BYSETPOS needs another BY part to choose from';
  return null;
}

function countValues(list: string | undefined): number {
  return list === undefined ? 1 : list.split(',').length;
}

function numberProblem(name: string, value: string, min: number, max: number): string | null {
  return isIntegerIn(value, min, max) ? null : `${name} must be an integer from ${min} to ${max}`;
}

function numbersProblem(name: string, value: string, min: number, max: number): string | null {
  const valid = (one: string): boolean => isIntegerIn(one, min, max) && (min >= 0 || Number(one) !== 0);
  return listProblem(name, value, valid, `integers from ${min} to ${max}${min < 0 ? ' without 0' : ''}`);
}

function isIntegerIn(text: string, min: number, max: number): boolean {
  return /^[+-]?\d{1,4}$/.test(text) && Number(text) >= min && Number(text) <= max;
}

function listProblem(
  name: string,
  value: string,
  valid: (one: string) => boolean,
  what: string,
): string | null {
  const values = value.split(',');
  if (values.length > MOST_VALUES) return `${name} must hold at most ${MOST_VALUES} values`;
  return values.every(valid) ? null : `${name} must be ${what}, with commas between`;
}

function isUtcDateTime(text: string): boolean {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/.exec(text) ?? [];
  if (second === undefined) return false;
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  return !Number.isNaN(Date.parse(iso)) && new Date(iso).toISOString() === iso;
}
