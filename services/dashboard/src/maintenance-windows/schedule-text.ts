import type {
  MaintenanceWindow,
  MaintenanceWindowPreview,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { formatSpan, formatUtcSpan, joinWords } from '../components/format.ts';
import { offsetMs, toLocal } from '../components/zoned-time.ts';
import { parseRule, readUntil, repeatsByElapsedTime, WEEKDAY_NAMES, WEEKDAYS } from './recurrence.ts';

/** Fields of a window that determine its occurrences. */
export type Schedule = Pick<MaintenanceWindow, 'startsAt' | 'endsAt' | 'rrule' | 'timeZone'>;

const UNITS: Readonly<Record<string, string>> = {
  HOURLY: 'hour',
  DAILY: 'day',
  WEEKLY: 'week',
  MONTHLY: 'month',
  YEARLY: 'year',
};
/** Rule parts that a sentence can contain, in order. A function returns null if it cannot describe the value. */
const WORDS: Readonly<Record<string, (value: string, zone: string) => string | null>> = {
  BYDAY: describeDays,
  BYMONTHDAY: describeDates,
  BYMONTH: describeMonths,
  COUNT: (count) => (count === '1' ? ', once' : `, ${count} times`),
  UNTIL: describeUntil,
};
const OTHER_PARTS = new Set(['FREQ', 'INTERVAL', 'WKST']);
const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth'];
/** Formats local times that are represented as UTC. */
const DATE_AND_TIME = new Intl.DateTimeFormat(undefined, {
  timeZone: 'UTC',
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

/** Formats as `Every week on Saturday, at 02:00 (Europe/Berlin), for 2 h each.` */
export function describeSchedule(schedule: Schedule): string {
  const { startsAt, rrule, timeZone } = schedule;
  const length = formatSpan(lengthMs(schedule) / 1_000, 4);
  if (rrule === null) return `Once, on ${formatInZone(startsAt, timeZone)} (${timeZone}), for ${length}.`;
  const sentence = describeRrule(rrule, timeZone) ?? `Custom rule ${rrule}`;
  // Hourly windows have no single time of day.
  const time = rrule.includes('HOURLY') || rrule.includes('BYHOUR') ? 'from' : 'at';
  const clock = toLocal(Date.parse(startsAt), timeZone).slice(11, 16);
  return `${sentence}, ${time} ${clock} (${timeZone}), for ${length} each.`;
}

/** Milliseconds of an occurrence. For recurring windows, from local start to local end. */
function lengthMs({ startsAt, endsAt, rrule, timeZone }: Schedule): number {
  const [start, end] = [Date.parse(startsAt), Date.parse(endsAt)];
  const isLocal = rrule !== null && !repeatsByElapsedTime(rrule);
  const length = end - start + (isLocal ? offsetMs(end, timeZone) - offsetMs(start, timeZone) : 0);
  // When clocks go back, the local end can precede the local start.
  return length > 0 ? length : end - start;
}

export function describeScheduleUtc({ startsAt, endsAt, rrule }: Schedule): string {
  const span = formatUtcSpan(new Date(startsAt), new Date(endsAt));
  return rrule === null ? span : `First occurrence: ${span}`;
}

/** Formats as `Every 2 weeks on Saturday, 10 times`. Null if the rule is too complex for a sentence. */
export function describeRrule(rrule: string, zone: string): string | null {
  const rule = parseRule(rrule);
  const unit = UNITS[rule.get('FREQ') ?? ''];
  const interval = Number(rule.get('INTERVAL') ?? 1);
  if (unit === undefined || !Number.isInteger(interval)) return null;
  if ([...rule.keys()].some((name) => !(name in WORDS) && !OTHER_PARTS.has(name))) return null;
  // Together they select days that match both, but a sentence would read as either.
  if (rule.has('BYDAY') && rule.has('BYMONTHDAY')) return null;
  const words = Object.entries(WORDS).map(([name, describe]) => {
    const value = rule.get(name);
    return value === undefined ? '' : describe(value, zone);
  });
  return words.includes(null)
    ? null
    : `Every ${interval === 1 ? unit : `${interval} ${unit}s`}${words.join('')}`;
}

function describeDays(list: string): string | null {
  const days = list.split(',');
  const plain = WEEKDAYS.filter((weekday) => days.includes(weekday));
  if (plain.join() === 'MO,TU,WE,TH,FR' && days.length === 5) return ' on weekdays';
  if (plain.length === days.length) return ` on ${joinWords(plain.map((day) => WEEKDAY_NAMES[day]))}`;
  const words = days.map(describeNumberedDay);
  return words.includes(null) ? null : ` on ${joinWords(words.map(String))}`;
}

/** @param day such as `2SA` or `-1FR` */
function describeNumberedDay(day: string): string | null {
  const [, number, code] = /^([+-]?\d+)?([A-Z]{2})$/.exec(day) ?? [];
  const weekday = WEEKDAYS.find((one) => one === code);
  if (weekday === undefined) return null;
  const name = WEEKDAY_NAMES[weekday];
  return number === undefined ? `every ${name}` : `the ${describeOrdinal(Number(number))} ${name}`;
}

function describeDates(list: string): string | null {
  const numbers = list.split(',').map(Number);
  if (!numbers.every((number) => Number.isInteger(number) && number !== 0)) return null;
  return ` on ${joinWords(numbers.map((number) => (number > 0 ? `day ${number}` : `the ${describeOrdinal(number)} day`)))}`;
}

function describeMonths(list: string): string | null {
  const names = list.split(',').map((number) => MONTHS[Number(number) - 1] ?? '');
  return names.includes('') ? null : ` in ${joinWords(names)}`;
}

function describeUntil(text: string, zone: string): string | null {
  const until = readUntil(text);
  return until === null ? null : `, until ${toLocal(until, zone).slice(0, 10)}`;
}

/** Formats as `second`, `last`, `second to last` or `12th`. */
export function describeOrdinal(number: number): string {
  if (number === -1) return 'last';
  if (number < 0) return `${describeOrdinal(-number)} to last`;
  const suffix =
    number % 100 >= 11 && number % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][number % 10] ?? 'th');
  return ORDINALS[number - 1] ?? `${number}${suffix}`;
}

/** Formats weekday, date and local time in a zone. @param iso ISO 8601 */
export function formatInZone(iso: string, zone: string): string {
  const epochMs = Date.parse(iso);
  return DATE_AND_TIME.format(epochMs + offsetMs(epochMs, zone));
}

const DATE = new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', dateStyle: 'long' });

/** Describes what happens on a day on which the clocks skip or repeat the start of a window. */
export function describeClockChange(
  { localTime, occurs }: MaintenanceWindowPreview['clockChanges'][number],
  zone: string,
): string {
  const date = DATE.format(new Date(`${localTime}Z`));
  const time = localTime.slice(11, 16);
  return occurs === 'never'
    ? `On ${date}, ${time} does not exist in ${zone}: the clocks go forward. The window does not take place on this day.`
    : `On ${date}, ${time} occurs twice in ${zone}: the clocks go back. The window starts the first time.`;
}
