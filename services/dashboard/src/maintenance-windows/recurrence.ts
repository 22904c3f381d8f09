import { localToIso, toLocal } from '../components/zoned-time.ts';

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

export const REPEATS = ['once', 'daily', 'weekly', 'monthly', 'custom'] as const;
/** Form values of a recurrence. Fields that `repeat` does not use keep their values. */
export type Recurrence = {
  readonly repeat: (typeof REPEATS)[number];
  /** The interval in days, weeks or months. */
  readonly every: number;
  readonly days: readonly Weekday[];
  /** Day of the month, as its number, the last day, the nth weekday (1–5), or the last such weekday. */
  readonly monthlyOn: 'day' | 'last-day' | 'nth' | 'last';
  readonly ends: 'never' | 'until' | 'count';
  /** Last day in the zone of the window, such as `2026-12-31`. */
  readonly until: string;
  readonly count: number;
  /** Rule if `repeat` is `custom`. */
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

/** The rule of a recurrence, or null without repetition. @param startsAt local start, such as `2026-03-01T12:00` */
export function toRrule(recurrence: Recurrence, startsAt: string, zone: string): string | null {
  const { repeat, every, days, monthlyOn, ends, until, count, rrule } = recurrence;
  if (repeat === 'once') return null;
  if (repeat === 'custom') return rrule.trim().replace(/^RRULE:/i, '');
  const { day, weekday, nth } = dayInMonth(startsAt);
  // The recurrence includes the last day, which ends at midnight in the window's time zone.
  const untilIso = ends === 'until' ? localToIso(`${until}T23:59:59`, zone) : null;
  const monthlyParts = {
    day: `BYMONTHDAY=${day}`,
    'last-day': 'BYMONTHDAY=-1',
    nth: `BYDAY=${nth}${weekday}`,
    last: `BYDAY=-1${weekday}`,
  };
  const parts = [
    `FREQ=${repeat.toUpperCase()}`,
    every !== 1 && `INTERVAL=${every}`,
    repeat === 'weekly' && `BYDAY=${WEEKDAYS.filter((one) => days.includes(one)).join() || weekday}`,
    repeat === 'monthly' && monthlyParts[monthlyOn],
    ends === 'count' && `COUNT=${count}`,
    untilIso !== null && `UNTIL=${untilIso.slice(0, 19).replaceAll(/[-:]/g, '')}Z`,
  ];
  return parts.filter((part) => part !== false).join(';');
}

/** Form values of a rule. `custom` if the form cannot express it. */
export function readRecurrence(rrule: string | null, startsAt: string, zone: string): Recurrence {
  if (rrule === null) return NO_RECURRENCE;
  const rule = parseRule(rrule);
  const repeat = REPEATS.find((one) => one.toUpperCase() === rule.get('FREQ'));
  if (repeat !== undefined) {
    const found = { ...NO_RECURRENCE, repeat, ...readChoices(rule, startsAt, zone) };
    const again = parseRule(toRrule(found, startsAt, zone) ?? '');
    if (normalize(rule, startsAt) === normalize(again, startsAt)) return found;
  }
  return { ...NO_RECURRENCE, repeat: 'custom', rrule };
}

function readChoices(rule: Rule, startsAt: string, zone: string): Partial<Recurrence> {
  const [byDay, count] = [rule.get('BYDAY'), rule.get('COUNT')];
  const until = readUntil(rule.get('UNTIL'));
  const days = (byDay ?? dayInMonth(startsAt).weekday).split(',');
  const onDay = rule.get('BYMONTHDAY') === '-1' ? 'last-day' : 'day';
  return {
    every: Number(rule.get('INTERVAL') ?? 1),
    days: WEEKDAYS.filter((day) => days.includes(day)),
    monthlyOn: byDay === undefined ? onDay : byDay.startsWith('-1') ? 'last' : 'nth',
    ...(count !== undefined
      ? { ends: 'count', count: Number(count) }
      : until !== null && { ends: 'until', until: toLocal(until, zone).slice(0, 10) }),
  };
}

type Rule = ReadonlyMap<string, string>;

export function parseRule(rrule: string): Rule {
  return new Map(rrule.split(';').map((part) => [part.split('=')[0] ?? '', part.split('=')[1] ?? '']));
}

/** True if a rule repeats hourly without a local time, so that clock changes do not affect it. */
export function repeatsByElapsedTime(rrule: string): boolean {
  const names = [...parseRule(rrule).keys()];
  return parseRule(rrule).get('FREQ') === 'HOURLY' && !names.some((name) => name.startsWith('BY'));
}

/** Equivalent rules have the same normalized text, with implied parts in alphabetical order. */
function normalize(rule: Rule, startsAt: string): string {
  const { day, weekday } = dayInMonth(startsAt);
  const all = new Map([['WKST', 'MO'], ['INTERVAL', '1'], ...rule]);
  // A rule without a day uses the day of the first occurrence.
  const hasDay = rule.has('BYDAY') || rule.has('BYMONTHDAY');
  if (!hasDay && rule.get('FREQ') === 'WEEKLY') all.set('BYDAY', weekday);
  if (!hasDay && rule.get('FREQ') === 'MONTHLY') all.set('BYMONTHDAY', String(day));
  return [...all]
    .map(([name, list]) => `${name}=${list.split(',').sort().join()}`)
    .sort()
    .join(';');
}

/** Epoch milliseconds of an `UNTIL` such as `20261231T235959Z`, or null if invalid. */
export function readUntil(text: string | undefined): number | null {
  const iso = text?.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/, '$1-$2-$3T$4:$5:$6Z') ?? '';
  const epochMs = Date.parse(iso);
  return Number.isNaN(epochMs) ? null : epochMs;
}

/** The position of a day in its month. @param local starts with a date, such as `2026-03-14` */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- its fields are self-explanatory
export function dayInMonth(local: string) {
  const date = new Date(`${local.slice(0, 10)}T00:00Z`);
  const day = date.getUTCDate();
  const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return {
    day,
    weekday: WEEKDAYS[(date.getUTCDay() + 6) % 7] ?? 'MO',
    /** From 1 to 5. */
    nth: Math.ceil(day / 7),
    isLastOfWeekday: day + 7 > length,
    isLastDay: day === length,
  };
}
