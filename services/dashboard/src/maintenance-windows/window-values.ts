import type { FormErrors } from '@mantine/form';
import type { FieldError } from '@tocsin/contracts/errors';
import {
  createMaintenanceWindowSchema,
  type MaintenanceWindow,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { type ApiForm, bodyErrors, changedFields } from '../components/form.ts';
import { localToIso, momentsAt, toLocal } from '../components/zoned-time.ts';
import { type CoverageValues, findSelectorErrors, toCoverage, toCoverageValues } from '../labels/coverage.ts';
import type { PreviewBody, WindowBody } from './queries.ts';
import { parseDuration } from './duration.ts';
import {
  NO_RECURRENCE,
  readRecurrence,
  type Recurrence,
  repeatsByElapsedTime,
  toRrule,
} from './recurrence.ts';

const HOUR_MS = 3_600_000;

/** Form values. Times are local in `timeZone`, such as `2026-03-01T12:00`. */
export type WindowValues = Recurrence &
  CoverageValues & {
    readonly name: string;
    readonly startsAt: string;
    readonly endsAt: string;
    /** Invalid text in the duration field, otherwise null. */
    readonly duration: string | null;
    readonly timeZone: string;
  };

/** Creates a one-hour window that starts at the next full hour. */
export function newValues(monitorIds: readonly string[], zone: string, nowMs: number): WindowValues {
  const start = Math.ceil((nowMs + 1) / HOUR_MS) * HOUR_MS;
  return {
    ...NO_RECURRENCE,
    name: '',
    startsAt: toLocal(start, zone),
    endsAt: toLocal(start + HOUR_MS, zone),
    duration: null,
    timeZone: zone,
    monitorIds,
    allMonitors: false,
    selector: '',
  };
}

export function valuesOf(window: MaintenanceWindow): WindowValues {
  const { name, timeZone, rrule } = window;
  const startsAt = toLocal(Date.parse(window.startsAt), timeZone);
  const endsAt = toLocal(Date.parse(window.endsAt), timeZone);
  const recurrence = readRecurrence(rrule, startsAt, timeZone);
  return { ...recurrence, ...toCoverageValues(window), name, startsAt, endsAt, duration: null, timeZone };
}

/** Request body to create the window. Nonexistent times become empty. */
export function toBody(values: WindowValues): WindowBody {
  const { name, startsAt, endsAt, timeZone } = values;
  return {
    name,
    startsAt: localToIso(startsAt, timeZone) ?? '',
    endsAt: localToIso(endsAt, timeZone) ?? '',
    rrule: toRrule(values, startsAt, timeZone),
    timeZone,
    ...toCoverage(values),
  };
}

/** Request body to preview the window, or null while a time or the duration is invalid. @param windowId null for a new window */
export function toPreviewBody(values: WindowValues, windowId: string | null): PreviewBody | null {
  const { name: _, ...body } = toBody(values);
  if (values.duration !== null || !body.startsAt || !body.endsAt || body.endsAt <= body.startsAt) return null;
  return { ...body, ...(windowId !== null && { maintenanceWindowId: windowId }) };
}

/** Request body to update changed fields only, so that an unchanged time in a repeated hour keeps its meaning. */
export function toUpdate(before: WindowValues, values: WindowValues): Partial<WindowBody> {
  const changed = changedFields(toBody(before), toBody(values));
  // The form shows a selector without conditions as "All monitors", so both change together.
  return changed.allMonitors === undefined ? changed : { ...changed, ...toCoverage(values) };
}

/** Occurrences of a recurring window keep their local times, so their length is measured in local time. */
function lengthZone({ repeat, rrule, timeZone }: WindowValues): string {
  return repeat === 'once' || (repeat === 'custom' && repeatsByElapsedTime(rrule)) ? timeZone : 'UTC';
}

/** Milliseconds of an occurrence, or null if a time is missing. */
export function lengthOf(values: WindowValues): number | null {
  const [start] = momentsAt(values.startsAt, lengthZone(values)) ?? [];
  const [end] = momentsAt(values.endsAt, lengthZone(values)) ?? [];
  return start === undefined || end === undefined ? null : end - start;
}

/** Moves the start and the end. @param lengthMs length to keep, or null if unknown */
export function withStart(values: WindowValues, startsAt: string, lengthMs: number | null): WindowValues {
  const moved = { ...values, startsAt };
  return lengthMs === null || lengthMs <= 0 ? moved : withLength(moved, lengthMs);
}

/** Moves the end to match the typed duration. Invalid text is kept and does not move the end. */
export function withDuration(values: WindowValues, text: string): WindowValues {
  const { durationMs } = parseDuration(text);
  return durationMs === null ? { ...values, duration: text } : withLength(values, durationMs);
}

export function withLength(values: WindowValues, lengthMs: number): WindowValues {
  const zone = lengthZone(values);
  const [start] = momentsAt(values.startsAt, zone) ?? [];
  const known = { ...values, duration: null };
  return start === undefined ? known : { ...known, endsAt: toLocal(start + lengthMs, zone) };
}

/** Errors in form fields and in the request body. The server checks the rest. */
export function findErrors(values: WindowValues): FieldError[] {
  const { startsAt, endsAt, duration, timeZone, repeat, every, ends, until, count, rrule } = values;
  const hasInterval = repeat !== 'once' && repeat !== 'custom';
  const length = lengthOf(values);
  const own = {
    startsAt: timeError(startsAt, timeZone),
    endsAt: timeError(endsAt, timeZone) || (length !== null && length <= 0 && 'must be after the start'),
    duration: duration !== null && (parseDuration(duration).error ?? false),
    rrule: repeat === 'custom' && rrule.trim() === '' && 'Enter a rule, such as FREQ=WEEKLY;BYDAY=SA.',
    every: hasInterval && !isIntegerUpTo(every, 1_000) && 'must be from 1 to 1,000',
    until: hasInterval && ends === 'until' && !/^\d{4}-\d{2}-\d{2}$/.test(until) && 'Enter the last day.',
    monitorIds: !coversAny(values) && 'Select at least one monitor, or enter a label selector.',
    count: hasInterval && ends === 'count' && !isIntegerUpTo(count, 366) && 'must be from 1 to 366',
  };
  return [
    ...Object.entries(own).flatMap(([path, message]) => (message === false ? [] : [{ path, message }])),
    ...findSelectorErrors(values),
    ...bodyErrors(createMaintenanceWindowSchema, toBody(values)),
  ];
}

const OVERLAP =
  /^Must let each occurrence end before the next one starts: endsAt must be at most (.+) after startsAt\.$/;

/** Moves an overlap error from the rule, where the API reports it, to the duration. */
export function placeOverlap(errors: FormErrors): FormErrors {
  const { rrule, ...others } = errors;
  const [, longest] = (typeof rrule === 'string' && OVERLAP.exec(rrule)) || [];
  if (longest === undefined) return errors;
  const duration = `Each occurrence must end before the next one starts: use a duration of at most ${longest}.`;
  return { duration, ...others };
}

function coversAny({ monitorIds, allMonitors, selector }: WindowValues): boolean {
  return allMonitors || monitorIds.length > 0 || selector.trim() !== '';
}

function timeError(local: string, zone: string): string | false {
  const moments = momentsAt(local, zone);
  if (moments === null) return 'Enter a date and a time.';
  return moments.length === 0 && `This time does not exist in ${zone}, because the clocks go forward.`;
}

function isIntegerUpTo(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= max;
}

export interface WindowFieldsProps {
  readonly form: ApiForm<WindowValues>;
  /** Errors in the form and the preview, by field. */
  readonly errors: FormErrors;
}
