import { joinWords } from '../components/filter-monitors.ts';
import { formatUtcSpan } from '../components/format-time.ts';
import { toLocal } from '../components/zoned-time.ts';
import type { Schedule } from './occurrences.ts';
import { describeOrdinal, readUntil, type Weekday, WEEKDAY_NAMES, WEEKDAYS } from './recurrence.ts';
import { formatDuration } from './window-values.ts';

/** When a window takes place the first time, by UTC. */
export function describeScheduleUtc({ startsAt, endsAt, rrule }: Schedule): string {
  const span = formatUtcSpan(new Date(startsAt), new Date(endsAt));
  return rrule === null ? span : `The first: ${span}`;
}

/** When a window takes place, as a sentence. */
export function describeSchedule({ startsAt, endsAt, rrule, timeZone }: Schedule): string {
  const length = formatDuration(Date.parse(endsAt) - Date.parse(startsAt));
  if (rrule === null) return `Once, on ${formatMoment(startsAt, timeZone)} (${timeZone}), for ${length}.`;
  const sentence = describeRrule(rrule, timeZone) ?? `By the rule ${rrule}`;
  // Every so many hours has no time of day.
  const time = rrule.includes('HOURLY') || rrule.includes('BYHOUR') ? 'from' : 'at';
  const clock = toLocal(Date.parse(startsAt), timeZone).slice(11, 16);
  return `${sentence}, ${time} ${clock} (${timeZone}), for ${length} each.`;
}

const UNITS: Readonly<Record<string, string>> = {
  HOURLY: 'hour',
  DAILY: 'day',
  WEEKLY: 'week',
  MONTHLY: 'month',
  YEARLY: 'year',
};
const KNOWN = new Set(['FREQ', 'INTERVAL', 'BYDAY', 'BYMONTHDAY', 'BYMONTH', 'COUNT', 'UNTIL', 'WKST']);
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** A rule as a sentence, such as `Every 2 weeks on Saturday, 10 times`; null where it says more than sentences here can. */
export function describeRrule(rrule: string, zone: string): string | null {
  const parts = new Map(rrule.split(';').map((part) => [part.split('=')[0] ?? '', part.split('=')[1] ?? '']));
  const unit = UNITS[parts.get('FREQ') ?? ''];
  if (unit === undefined || ![...parts.keys()].every((name) => KNOWN.has(name))) return null;
  const interval = Number(parts.get('INTERVAL') ?? 1);
  const days = describeDays(parts.get('BYDAY'));
  const dates = describeDates(parts.get('BYMONTHDAY'));
  const months = describeMonths(parts.get('BYMONTH'));
  const end = describeEnd(parts, zone);
  if (!Number.isInteger(interval) || [days, dates, months, end].includes(null)) return null;
  // Both together mean the days that are in both: more than one reads out of two lists.
  if (days !== '' && dates !== '') return null;
  return `Every ${interval === 1 ? unit : `${interval} ${unit}s`}${days}${dates}${months}${end}`;
}

function describeDays(list: string | undefined): string | null {
  if (list === undefined) return '';
  const days = list.split(',').map((day) => /^([+-]?\d+)?([A-Z]{2})$/.exec(day));
  if (days.every((day) => day?.[1] === undefined)) {
    const plain = WEEKDAYS.filter((weekday) => list.split(',').includes(weekday));
    if (plain.length !== days.length) return null;
    if (plain.join() === 'MO,TU,WE,TH,FR') return ' on working days';
    return ` on ${joinWords(plain.map((weekday) => WEEKDAY_NAMES[weekday]))}`;
  }
  const words = days.map((day) => describeNumberedDay(day?.[1], day?.[2]));
  return words.includes(null) ? null : ` on ${joinWords(words.map(String))}`;
}

function describeNumberedDay(number: string | undefined, weekday: string | undefined): string | null {
  const name = WEEKDAY_NAMES[weekday as Weekday] as string | undefined;
  if (name === undefined) return null;
  return number === undefined ? `every ${name}` : `the ${describeOrdinal(Number(number))} ${name}`;
}

function describeDates(list: string | undefined): string | null {
  if (list === undefined) return '';
  const numbers = list.split(',').map(Number);
  if (!numbers.every((number) => Number.isInteger(number) && number !== 0)) return null;
  return ` on ${joinWords(numbers.map((number) => (number > 0 ? `day ${number}` : `the ${describeOrdinal(number)} day`)))}`;
}

function describeMonths(list: string | undefined): string | null {
  if (list === undefined) return '';
  const names = list.split(',').map((number) => MONTHS[Number(number) - 1]);
  return names.includes(undefined) ? null : ` in ${joinWords(names.map(String))}`;
}

function describeEnd(parts: ReadonlyMap<string, string>, zone: string): string | null {
  const count = parts.get('COUNT');
  if (count !== undefined) return count === '1' ? ', once' : `, ${count} times`;
  const text = parts.get('UNTIL');
  if (text === undefined) return '';
  const until = readUntil(text);
  return until === null ? null : `, until ${toLocal(until, zone).slice(0, 10)}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Weekday, date and time as the clocks of a zone show it, in the reader's language. @param iso ISO 8601 */
export function formatMoment(iso: string, zone: string): string {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(undefined, {
      timeZone: zone,
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
    });
    formats.set(zone, format);
  }
  return format.format(new Date(iso));
}
