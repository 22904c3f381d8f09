import { useDidUpdate } from '@mantine/hooks';
import type { FieldError } from '@tocsin/contracts/errors';
import {
  createMaintenanceWindowSchema,
  type MaintenanceWindow,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { z } from 'zod';
import { useApiForm } from '../components/form.ts';
import { fromLocal, localToIso, toLocal } from '../components/zoned-time.ts';
import type { WindowBody, WindowUpdateBody } from './queries.ts';
import { NO_RECURRENCE, readRecurrence, type Recurrence, toRrule } from './recurrence.ts';

const HOUR_MS = 3_600_000;
const LONGEST_DAYS = 30;

/** A window as its form holds it: times as the clocks of its zone show them. */
export type WindowValues = Recurrence & {
  readonly name: string;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly timeZone: string;
  readonly monitorIds: readonly string[];
};

/** A new window: an hour from the next full one. */
export function newValues(monitorIds: readonly string[], zone: string, nowMs: number): WindowValues {
  const start = Math.ceil((nowMs + 1) / HOUR_MS) * HOUR_MS;
  return {
    ...NO_RECURRENCE,
    name: '',
    startsAt: toLocal(start, zone),
    endsAt: toLocal(start + HOUR_MS, zone),
    timeZone: zone,
    monitorIds,
  };
}

export function valuesOf(window: MaintenanceWindow): WindowValues {
  const { name, timeZone, monitorIds, rrule } = window;
  const startsAt = toLocal(Date.parse(window.startsAt), timeZone);
  const endsAt = toLocal(Date.parse(window.endsAt), timeZone);
  return { ...readRecurrence(rrule, startsAt, timeZone), name, startsAt, endsAt, timeZone, monitorIds };
}

/** The body of "create"; a time that does not exist is an empty one. */
export function toBody(values: WindowValues): WindowBody {
  const { name, startsAt, endsAt, timeZone, monitorIds } = values;
  return {
    name,
    startsAt: localToIso(startsAt, timeZone) ?? '',
    endsAt: localToIso(endsAt, timeZone) ?? '',
    rrule: toRrule(values, startsAt, timeZone),
    timeZone,
    monitorIds: [...monitorIds],
  };
}

/** The body of "update": what differs from the values before. So a time of the hour that comes twice stays the one it was. */
export function toUpdate(before: WindowValues, values: WindowValues): WindowUpdateBody {
  const [old, body] = [toBody(before), toBody(values)];
  const changed = Object.entries(body).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(old[field as keyof WindowBody]),
  );
  return Object.fromEntries(changed);
}

/** How long each occurrence lasts; null where a time is missing. */
export function lengthOf({ startsAt, endsAt, timeZone }: WindowValues): number | null {
  const [start, end] = [fromLocal(startsAt, timeZone)?.epochMs, fromLocal(endsAt, timeZone)?.epochMs];
  return typeof start === 'number' && typeof end === 'number' ? end - start : null;
}

/** Another start; the end moves along. @param lengthMs how long it lasts; null where that is not known */
export function withStart(values: WindowValues, startsAt: string, lengthMs: number | null): WindowValues {
  const moved = { ...values, startsAt };
  return lengthMs === null || lengthMs <= 0 ? moved : withLength(moved, lengthMs);
}

/** An end that is so long after the start. */
export function withLength(values: WindowValues, lengthMs: number): WindowValues {
  const start = fromLocal(values.startsAt, values.timeZone)?.epochMs;
  if (start === undefined || start === null) return values;
  return { ...values, endsAt: toLocal(start + lengthMs, values.timeZone) };
}

/** What can be said to be wrong before the server is asked; the server judges the rule. */
export function valueProblems(values: WindowValues): FieldError[] {
  const own = [
    ...timeProblems(values.startsAt, 'startsAt', values.timeZone),
    ...timeProblems(values.endsAt, 'endsAt', values.timeZone),
    ...lengthProblems(values),
    ...recurrenceProblems(values),
  ];
  const named = new Set(own.map(({ path }) => path));
  const { error } = createMaintenanceWindowSchema.safeParse(toBody(values));
  const others = (error?.issues ?? []).map(({ path, message }) => ({ path: path.join('.'), message }));
  return [...own, ...others.filter(({ path }) => !named.has(path))];
}

function timeProblems(local: string, path: string, zone: string): FieldError[] {
  const reading = fromLocal(local, zone);
  if (reading === null) return [{ path, message: 'Give a date and a time.' }];
  if (reading.epochMs !== null) return [];
  return [{ path, message: `This time does not exist in ${zone}: clocks go forward then.` }];
}

function lengthProblems(values: WindowValues): FieldError[] {
  const length = lengthOf(values);
  if (length === null) return [];
  if (length <= 0) return [{ path: 'endsAt', message: 'must be after the start' }];
  if (length <= LONGEST_DAYS * 24 * HOUR_MS) return [];
  return [{ path: 'endsAt', message: `must be at most ${LONGEST_DAYS} days after the start` }];
}

function recurrenceProblems({ repeat, every, ends, until, count, rrule }: WindowValues): FieldError[] {
  if (repeat === 'once') return [];
  if (repeat === 'custom')
    return rrule.trim() === ''
      ? [{ path: 'rrule', message: 'Give a rule, such as FREQ=WEEKLY;BYDAY=SA' }]
      : [];
  const problems: FieldError[] = [];
  if (!isIntegerUpTo(every, 1_000)) problems.push({ path: 'every', message: 'must be from 1 to 1,000' });
  if (ends === 'until' && !/^\d{4}-\d{2}-\d{2}$/.test(until))
    problems.push({ path: 'until', message: 'Give the last day.' });
  if (ends === 'count' && !isIntegerUpTo(count, 366))
    problems.push({ path: 'count', message: 'must be from 1 to 366' });
  return problems;
}

function isIntegerUpTo(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= most;
}

const MINUTE_MS = 60_000;
/** More is a slip of the finger, and no date may be so far. */
const MOST_MINUTES = 366 * 1_440;
const UNITS: Readonly<Record<string, number>> = { d: 1_440, h: 60, m: 1 };
const PART = /(\d+(?:[.,]\d+)?)\s*(d|h|m)[a-z]*/gi;

/** A span in full, as `1 d 2 h 30 min`; what is below a minute is left out. */
export function formatDuration(ms: number): string {
  const minutes = Math.floor(ms / MINUTE_MS);
  const parts = [
    [Math.floor(minutes / 1_440), 'd'],
    [Math.floor(minutes / 60) % 24, 'h'],
    [minutes % 60, 'min'],
  ] as const;
  return (
    parts
      .filter(([count]) => count > 0)
      .map(([count, unit]) => `${count} ${unit}`)
      .join(' ') || '0 min'
  );
}

/** Reads `90 min`, `1.5 h`, `2h30`, `1 d 2 h` or a number of minutes, in ms; null where it is none of these. */
export function parseDuration(text: string): number | null {
  const parts = [...text.matchAll(PART)];
  const rest = text.replaceAll(PART, '').trim();
  const minutes = parts.reduce(
    (sum, [, count = '', unit = '']) =>
      sum + Number(count.replace(',', '.')) * (UNITS[unit.toLowerCase()] ?? 0),
    0,
  );
  if (rest !== '' && !/^\d+$/.test(rest)) return null;
  const total = Math.round(minutes + Number(rest));
  return total > 0 && total <= MOST_MINUTES ? total * MINUTE_MS : null;
}

/** The values are judged as the body that they make, and the choices of which it is made. */
const schema = z.custom<WindowValues>().superRefine((values, context) => {
  for (const { path, message } of valueProblems(values))
    context.addIssue({ code: 'custom', path: path.split('.'), message });
});

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library's own type, with this form's values
export function useWindowForm(initialValues: WindowValues) {
  const form = useApiForm<WindowValues>({ schema, initialValues });
  const { repeat, every, days, monthlyOn, ends, until, count, startsAt, endsAt } = form.values;
  // What the server said of the rule was said of all of these.
  useDidUpdate(
    () => form.clearFieldError('rrule'),
    [repeat, every, days, monthlyOn, ends, until, count, startsAt, endsAt],
  );
  return form;
}

export type WindowFormState = ReturnType<typeof useWindowForm>;
