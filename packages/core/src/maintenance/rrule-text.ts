/** Allowed parts of a window's RRULE (RFC 5545 section 3.3.10), limited so that no rule is costly to evaluate. */
const FREQUENCIES = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY'] as const;
type Frequency = (typeof FREQUENCIES)[number];
const MAX_CHARACTERS = 500;
export const MAX_OCCURRENCES = 366;
const MAX_INTERVAL = 1_000;
/** Maximum product of the numbers of BYHOUR and BYMINUTE values, because each matching day has all of these times. */
const MAX_TIMES_OF_DAY = { YEARLY: 2, MONTHLY: 4, WEEKLY: 24, DAILY: 24, HOURLY: 24 };
const MAX_VALUES = 60;

const WEEKDAY = /^([+-]?[1-9]\d?)?(MO|TU|WE|TH|FR|SA|SU)$/;

type PartCheck = (value: string) => string | null;

const PARTS: Readonly<Record<string, PartCheck>> = {
  FREQ: (value) =>
    FREQUENCIES.some((frequency) => frequency === value)
      ? null
      : `FREQ must be one of ${FREQUENCIES.join(', ')}: maintenance does not repeat within an hour`,
  INTERVAL: (value) => validateNumber('INTERVAL', value, 1, MAX_INTERVAL),
  COUNT: (value) => validateNumber('COUNT', value, 1, MAX_OCCURRENCES),
  UNTIL: (value) =>
    isUtcDateTime(value) ? null : 'UNTIL must be a date and time in UTC, such as 20261231T235959Z',
  WKST: (value) => (/^(MO|TU|WE|TH|FR|SA|SU)$/.test(value) ? null : 'WKST must be a weekday, such as MO'),
  BYDAY: (value) =>
    validateList('BYDAY', value, (one) => WEEKDAY.test(one), 'weekdays such as MO, 2TU or -1FR'),
  BYMONTH: (value) => validateNumbers('BYMONTH', value, 1, 12),
  BYMONTHDAY: (value) => validateNumbers('BYMONTHDAY', value, -31, 31),
  BYYEARDAY: (value) => validateNumbers('BYYEARDAY', value, -366, 366),
  BYWEEKNO: (value) => validateNumbers('BYWEEKNO', value, -53, 53),
  BYHOUR: (value) => validateNumbers('BYHOUR', value, 0, 23),
  BYMINUTE: (value) => validateNumbers('BYMINUTE', value, 0, 59),
  BYSETPOS: (value) => validateNumbers('BYSETPOS', value, -366, 366),
};

/** These would make an hourly rule step through years of hours. A daily rule expresses the same. */
const NOT_HOURLY = ['BYMONTH', 'BYMONTHDAY', 'BYYEARDAY', 'BYWEEKNO', 'BYSETPOS'];

/** Returns the error in the text of an RRULE, or null. `validateSchedule` validates its occurrences. */
export function validateRruleText(text: string): string | null {
  if (text.length > MAX_CHARACTERS) return `must be at most ${MAX_CHARACTERS} characters`;
  if (/DTSTART|DTEND|TZID|\n/i.test(text)) {
    return 'must contain the rule only: the start is `startsAt`, the zone is `timeZone`';
  }
  const parts = new Map<string, string>();
  for (const part of text.split(';')) {
    const [, name, value] = /^([A-Z]+)=([^=]+)$/.exec(part) ?? [];
    if (name === undefined || value === undefined) {
      return 'must be an RFC 5545 rule in capitals, such as FREQ=WEEKLY;BYDAY=SA';
    }
    if (parts.has(name)) return `must not contain ${name} twice`;
    const check = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
    if (check === undefined) return `must not use ${name}; known parts: ${Object.keys(PARTS).join(', ')}`;
    const error = check(value);
    if (error !== null) return error;
    parts.set(name, value);
  }
  return validateCombination(parts);
}

/** Returns FREQ. The rule must be well-formed, as for the functions below. */
export function frequencyOf(rrule: string): string {
  return /(?:^|;)FREQ=(\w+)/.exec(rrule)?.[1] ?? '';
}

/** An hourly rule without a local time repeats by elapsed time, so clock changes do not affect it. */
export function repeatsByElapsedTime(rrule: string): boolean {
  return frequencyOf(rrule) === 'HOURLY' && !/(^|;)BY/.test(rrule);
}

/** Reports whether occurrences may have another time of day than the first start. */
export function hasTimesOfDay(rrule: string): boolean {
  return frequencyOf(rrule) === 'HOURLY' || /(^|;)BY(HOUR|MINUTE)=/.test(rrule);
}

/** To find one occurrence of a counted rule, the library finds all before it. */
export function isCounted(rrule: string): boolean {
  return /(^|;)COUNT=/.test(rrule);
}

export function endsByItself(rrule: string): boolean {
  return /(^|;)(COUNT|UNTIL)=/.test(rrule);
}

function validateCombination(parts: ReadonlyMap<string, string>): string | null {
  const frequency = parts.get('FREQ') as Frequency | undefined;
  if (frequency === undefined) return 'must contain FREQ, such as FREQ=WEEKLY';
  if (parts.has('COUNT') && parts.has('UNTIL')) return 'must not contain both COUNT and UNTIL';
  const times = countValues(parts.get('BYHOUR')) * countValues(parts.get('BYMINUTE'));
  const maxTimes = parts.has('BYSETPOS') ? 1 : MAX_TIMES_OF_DAY[frequency];
  if (times > maxTimes) {
    return `must have at most ${maxTimes} times of day with FREQ=${frequency}${parts.has('BYSETPOS') ? ' and BYSETPOS' : ''}`;
  }
  const odd = NOT_HOURLY.find((name) => frequency === 'HOURLY' && parts.has(name));
  if (odd !== undefined) return `${odd} cannot be used with FREQ=HOURLY: use FREQ=DAILY with BYHOUR`;
  const numbered = /\d/.test(parts.get('BYDAY') ?? '');
  if (numbered && frequency !== 'MONTHLY' && frequency !== 'YEARLY') {
    return 'BYDAY can have a number only with FREQ=MONTHLY or YEARLY';
  }
  if (numbered && parts.has('BYWEEKNO')) return 'BYDAY cannot have a number together with BYWEEKNO';
  if (parts.has('BYWEEKNO') && frequency !== 'YEARLY') return 'BYWEEKNO requires FREQ=YEARLY';
  if (parts.has('BYYEARDAY') && frequency !== 'YEARLY') return 'BYYEARDAY requires FREQ=YEARLY';
  if (parts.has('BYMONTHDAY') && frequency === 'WEEKLY') return 'BYMONTHDAY cannot be used with FREQ=WEEKLY';
  const others = [...parts.keys()].some((name) => name.startsWith('BY') && name !== 'BYSETPOS');
  if (parts.has('BYSETPOS') && !others) return 'BYSETPOS requires another BY part';
  return null;
}

function countValues(list: string | undefined): number {
  return list === undefined ? 1 : list.split(',').length;
}

function validateNumber(name: string, value: string, min: number, max: number): string | null {
  return isIntegerIn(value, min, max) ? null : `${name} must be an integer from ${min} to ${max}`;
}

function validateNumbers(name: string, value: string, min: number, max: number): string | null {
  const valid = (one: string): boolean => isIntegerIn(one, min, max) && (min >= 0 || Number(one) !== 0);
  return validateList(name, value, valid, `integers from ${min} to ${max}${min < 0 ? ' without 0' : ''}`);
}

function isIntegerIn(text: string, min: number, max: number): boolean {
  return /^[+-]?\d{1,4}$/.test(text) && Number(text) >= min && Number(text) <= max;
}

function validateList(
  name: string,
  value: string,
  valid: (one: string) => boolean,
  expected: string,
): string | null {
  const values = value.split(',');
  if (values.length > MAX_VALUES) return `${name} must contain at most ${MAX_VALUES} values`;
  return values.every(valid) ? null : `${name} must be ${expected}, separated by commas`;
}

function isUtcDateTime(text: string): boolean {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/.exec(text) ?? [];
  if (second === undefined) return false;
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  return !Number.isNaN(Date.parse(iso)) && new Date(iso).toISOString() === iso;
}
