import type { FormErrors } from '@mantine/form';
import { useDidUpdate } from '@mantine/hooks';
import type { FieldError } from '@tocsin/contracts/errors';
import {
  createMaintenanceWindowSchema,
  type MaintenanceWindow,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { fromLocal, localToIso, toLocal } from '../components/zoned-time.ts';
import type { WindowBody } from './queries.ts';
import { NO_RECURRENCE, readRecurrence, type Recurrence, toRrule } from './recurrence.ts';

const HOUR_MS = 3_600_000;

/** The values of the form. Times are local in `timeZone`, such as `2026-03-01T12:00`. */
export type WindowValues = Recurrence & {
  readonly name: string;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly timeZone: string;
  readonly monitorIds: readonly string[];
};

/** A new window of one hour, from the next full hour. */
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

/** The request body to create the window. Times that do not exist are empty. */
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

/** The request body to update the window: only changed fields. So an unchanged time in a repeated hour keeps its meaning. */
export function toUpdate(before: WindowValues, values: WindowValues): Partial<WindowBody> {
  const [old, body] = [toBody(before), toBody(values)];
  const changed = Object.entries(body).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(old[field as keyof WindowBody]),
  );
  return Object.fromEntries(changed);
}

/** The length of an occurrence in milliseconds; null if a time is missing. */
export function lengthOf({ startsAt, endsAt, timeZone }: WindowValues): number | null {
  const [start, end] = [fromLocal(startsAt, timeZone)?.epochMs, fromLocal(endsAt, timeZone)?.epochMs];
  return typeof start === 'number' && typeof end === 'number' ? end - start : null;
}

/** Moves the start, and the end with it. @param lengthMs the length to keep; null if unknown */
export function withStart(values: WindowValues, startsAt: string, lengthMs: number | null): WindowValues {
  const moved = { ...values, startsAt };
  return lengthMs === null || lengthMs <= 0 ? moved : withLength(moved, lengthMs);
}

/** Moves the end. */
export function withLength(values: WindowValues, lengthMs: number): WindowValues {
  const start = fromLocal(values.startsAt, values.timeZone)?.epochMs;
  if (start === undefined || start === null) return values;
  return { ...values, endsAt: toLocal(start + lengthMs, values.timeZone) };
}

/** Errors of the form's own fields and of the request body. The server checks the rest. */
export function findErrors(values: WindowValues): FieldError[] {
  return [
    ...timeErrors(values.startsAt, 'startsAt', values.timeZone),
    ...timeErrors(values.endsAt, 'endsAt', values.timeZone),
    ...((lengthOf(values) ?? 1) <= 0 ? [{ path: 'endsAt', message: 'must be after the start' }] : []),
    ...recurrenceErrors(values),
    ...bodyErrors(createMaintenanceWindowSchema, toBody(values)),
  ];
}

function timeErrors(local: string, path: string, zone: string): FieldError[] {
  const reading = fromLocal(local, zone);
  if (reading === null) return [{ path, message: 'Enter a date and a time.' }];
  if (reading.epochMs !== null) return [];
  return [{ path, message: `This time does not exist in ${zone}, because the clocks go forward.` }];
}

function recurrenceErrors({ repeat, every, ends, until, count, rrule }: WindowValues): FieldError[] {
  if (repeat === 'once') return [];
  if (repeat === 'custom')
    return rrule.trim() === ''
      ? [{ path: 'rrule', message: 'Enter a rule, such as FREQ=WEEKLY;BYDAY=SA.' }]
      : [];
  const errors: FieldError[] = [];
  if (!isIntegerUpTo(every, 1_000)) errors.push({ path: 'every', message: 'must be from 1 to 1,000' });
  if (ends === 'until' && !/^\d{4}-\d{2}-\d{2}$/.test(until))
    errors.push({ path: 'until', message: 'Enter the last day.' });
  if (ends === 'count' && !isIntegerUpTo(count, 366))
    errors.push({ path: 'count', message: 'must be from 1 to 366' });
  return errors;
}

function isIntegerUpTo(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= max;
}

const MINUTE_MS = 60_000;
/** Longer durations are typing errors. */
const MAX_MINUTES = 366 * 1_440;
const UNITS: Readonly<Record<string, number>> = { d: 1_440, h: 60, m: 1 };
const PART = /(\d+(?:[.,]\d+)?)\s*(d|h|m)[a-z]*/gi;

/** Such as `1 d 2 h 30 min`, without seconds. */
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

/** The milliseconds of `90 min`, `1.5 h`, `2h30`, `1 d 2 h` or a number of minutes; null if the text is none of these. */
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
  return total > 0 && total <= MAX_MINUTES ? total * MINUTE_MS : null;
}

export type WindowFormState = ReturnType<typeof useApiForm<WindowValues>>;

export function useWindowForm(initialValues: WindowValues): WindowFormState {
  const form = useApiForm<WindowValues>({ validate: findErrors, initialValues });
  const { repeat, every, days, monthlyOn, ends, until, count, startsAt, endsAt } = form.values;
  // The server's error of the rule is about all of these.
  useDidUpdate(
    () => form.clearFieldError('rrule'),
    [repeat, every, days, monthlyOn, ends, until, count, startsAt, endsAt],
  );
  return form;
}

export interface WindowFieldsProps {
  readonly form: WindowFormState;
  /** Those of the form and of the preview, by field. */
  readonly errors: FormErrors;
}
