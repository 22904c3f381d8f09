import { localToIso, toLocal } from '../components/zoned-time.ts';

export const REPEATS = ['once', 'daily', 'weekly', 'monthly', 'custom'] as const;
export type Repeat = (typeof REPEATS)[number];

/** Which day of a month, as the first occurrence has it: its number, the how manieth weekday, or counted from the end. */
export type MonthlyOn = 'day' | 'last-day' | 'nth' | 'last';

/** A recurrence by simple choices; fields that `repeat` has no use for are kept for when it is chosen again. */
export type Recurrence = {
  readonly repeat: Repeat;
  /** Every so many days, weeks or months. */
  readonly every: number;
  readonly days: readonly Weekday[];
  readonly monthlyOn: MonthlyOn;
  readonly ends: 'never' | 'until' | 'count';
  /** The last day, as `2026-12-31` in the window's zone. */
  readonly until: string;
  readonly count: number;
  /** The rule where `repeat` is `custom`. */
  readonly rrule: string;
};

export const NO_RECURRENCE: Recurrence = {
  repeat: 'once',
  every: 1,
  days: [],
  monthlyOn: 'day',
  ends: 'never',
  until: '',
  count: 10,
  rrule: '',
};

/** The rule of these choices; null: once. @param startsAt the first occurrence on the zone's clocks, as `2026-03-01T12:00` */
export function toRrule(recurrence: Recurrence, startsAt: string, zone: string): string | null {
  const { repeat, every, rrule } = recurrence;
  if (repeat === 'once') return null;
  if (repeat === 'custom') return rrule.trim().replace(/^RRULE:/i, '');
  const parts = [`FREQ=${repeat.toUpperCase()}`];
  if (every !== 1) parts.push(`INTERVAL=${every}`);
  if (repeat === 'weekly') parts.push(`BYDAY=${daysOf(recurrence, startsAt).join(',')}`);
  if (repeat === 'monthly') parts.push(monthlyPart(recurrence.monthlyOn, startsAt));
  const end = endPart(recurrence, zone);
  return [...parts, ...(end === null ? [] : [end])].join(';');
}

/** The choices that say this rule; `custom` where none do. */
export function readRecurrence(rrule: string | null, startsAt: string, zone: string): Recurrence {
  if (rrule === null) return NO_RECURRENCE;
  const custom: Recurrence = { ...NO_RECURRENCE, repeat: 'custom', rrule };
  const parts = partsOf(rrule);
  const repeat = REPEATS.find((one) => one.toUpperCase() === parts.get('FREQ'));
  if (repeat === undefined) return custom;
  const place = placeInMonth(startsAt);
  const found: Recurrence = {
    ...NO_RECURRENCE,
    repeat,
    every: Number(parts.get('INTERVAL') ?? 1),
    days: WEEKDAYS.filter((day) => (parts.get('BYDAY') ?? place.weekday).split(',').includes(day)),
    monthlyOn: readMonthlyOn(parts),
    ...readEnd(parts, zone),
  };
  // Whatever these choices do not say again is more than they can say.
  const again = partsOf(toRrule(found, startsAt, zone) ?? '');
  const implied = new Map([['WKST', 'MO'], ['INTERVAL', '1'], ...impliedDay(repeat, parts, place)]);
  const all = new Set([...parts.keys(), ...again.keys()]);
  const same = [...all].every((name) => {
    const [before, after] = [parts.get(name) ?? implied.get(name), again.get(name) ?? implied.get(name)];
    return before !== undefined && after !== undefined && sorted(before) === sorted(after);
  });
  return same ? found : custom;
}

function daysOf({ days }: Recurrence, startsAt: string): readonly Weekday[] {
  return days.length === 0 ? [placeInMonth(startsAt).weekday] : WEEKDAYS.filter((day) => days.includes(day));
}

function monthlyPart(on: MonthlyOn, startsAt: string): string {
  const { day, weekday, nth } = placeInMonth(startsAt);
  switch (on) {
    case 'day':
      return `BYMONTHDAY=${day}`;
    case 'last-day':
      return 'BYMONTHDAY=-1';
    case 'nth':
      return `BYDAY=${nth}${weekday}`;
    case 'last':
      return `BYDAY=-1${weekday}`;
  }
}

/** Until the end of the last day, as its zone has it. */
function endPart({ ends, until, count }: Recurrence, zone: string): string | null {
  if (ends === 'count') return `COUNT=${count}`;
  const iso = ends === 'until' ? localToIso(`${until}T23:59:59`, zone) : null;
  return iso === null ? null : `UNTIL=${iso.slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

function partsOf(rrule: string): Map<string, string> {
  return new Map(
    rrule.split(';').map((part) => {
      const [name = '', value = ''] = part.split('=');
      return [name, value];
    }),
  );
}

function readMonthlyOn(parts: ReadonlyMap<string, string>): MonthlyOn {
  if (parts.get('BYMONTHDAY') === '-1') return 'last-day';
  const weekday = parts.get('BYDAY');
  if (weekday === undefined) return 'day';
  return weekday.startsWith('-1') ? 'last' : 'nth';
}

function readEnd(parts: ReadonlyMap<string, string>, zone: string): Partial<Recurrence> {
  const count = parts.get('COUNT');
  if (count !== undefined) return { ends: 'count', count: Number(count) };
  const until = readUntil(parts.get('UNTIL'));
  return until === null ? {} : { ends: 'until', until: toLocal(until, zone).slice(0, 10) };
}

/** The moment of an `UNTIL`, as `20261231T235959Z`; null where it is none. */
export function readUntil(text: string | undefined): number | null {
  const iso = text?.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/, '$1-$2-$3T$4:$5:$6Z') ?? '';
  const epochMs = Date.parse(iso);
  return Number.isNaN(epochMs) ? null : epochMs;
}

/** The day that a rule means where it names none: that of its first occurrence. */
function impliedDay(
  repeat: Repeat,
  parts: ReadonlyMap<string, string>,
  { day, weekday }: ReturnType<typeof placeInMonth>,
): [string, string][] {
  if (parts.has('BYDAY') || parts.has('BYMONTHDAY')) return [];
  if (repeat === 'weekly') return [['BYDAY', weekday]];
  return repeat === 'monthly' ? [['BYMONTHDAY', String(day)]] : [];
}

function sorted(list: string): string {
  return list.split(',').sort().join(',');
}

/** As RFC 5545 writes them, in the order of a week. */
export const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

export const WEEKDAY_NAMES: Record<Weekday, string> = {
  MO: 'Monday',
  TU: 'Tuesday',
  WE: 'Wednesday',
  TH: 'Thursday',
  FR: 'Friday',
  SA: 'Saturday',
  SU: 'Sunday',
};

const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth'];

/** As `second`, `last`, `second to last`, `12th`. */
export function describeOrdinal(number: number): string {
  if (number === -1) return 'last';
  if (number < 0) return `${describeOrdinal(-number)} to last`;
  return ORDINALS[number - 1] ?? `${number}${suffix(number)}`;
}

function suffix(number: number): string {
  if (number % 100 >= 11 && number % 100 <= 13) return 'th';
  return ['th', 'st', 'nd', 'rd'][number % 10] ?? 'th';
}

/** Where a day stands in its month. @param local begins with a date, as `2026-03-14` */
export function placeInMonth(local: string): {
  readonly day: number;
  readonly weekday: Weekday;
  /** The how manieth of its weekday it is, from 1 to 5. */
  readonly nth: number;
  readonly isLastOfWeekday: boolean;
  readonly isLastDay: boolean;
} {
  const date = new Date(`${local.slice(0, 10)}T00:00Z`);
  const day = date.getUTCDate();
  const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return {
    day,
    weekday: WEEKDAYS[(date.getUTCDay() + 6) % 7] ?? 'MO',
    nth: Math.ceil(day / 7),
    isLastOfWeekday: day + 7 > length,
    isLastDay: day === length,
  };
}
