import { createMaintenanceWindowSchema, type MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import type { FieldError } from '@tocsin/contracts/errors';
import { fromLocal, localToIso, toLocal } from '../components/zoned-time.ts';
import type { WindowBody, WindowUpdateBody } from './queries.ts';
import { NO_RECURRENCE, readRecurrence, toRrule, type Recurrence } from './recurrence.ts';

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
