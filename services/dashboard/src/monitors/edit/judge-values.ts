import type { FieldError } from '@tocsin/contracts/errors';
import {
  type Assertions,
  createMonitorSchema,
  type Monitor,
  monitorConflicts,
} from '@tocsin/contracts/monitors/monitor';
import { requestHeaders } from '@tocsin/contracts/monitors/request-headers';
import { z } from 'zod';
import { filledRows, type HeaderRow, type MonitorFormValues, toBody } from './form-values.ts';

/** Judges the form's values as the API judges the body made of them; each problem stands at its control. */
export function judgeWith(stored: Pick<Monitor, 'body'> | null): z.ZodType<MonitorFormValues> {
  return z.custom<MonitorFormValues>().superRefine((values, context) => {
    for (const { path, message } of findProblems(values, stored))
      context.addIssue({ code: 'custom', path: path.split('.'), message });
  });
}

/** Everything that is wrong, by the path of the control, as `headers.0.value`. */
export function findProblems(
  values: MonitorFormValues,
  stored: Pick<Monitor, 'body'> | null,
): readonly FieldError[] {
  const body = toBody(values, stored);
  const { error } = createMonitorSchema.safeParse(body);
  const problems = (error?.issues ?? []).map(({ path, message }) => ({ path: path.join('.'), message }));
  const assertions = body.assertions as Assertions | null;
  return [
    ...[...problems, ...monitorConflicts({ method: values.method, assertions })].map((problem) =>
      atControl(problem, values),
    ),
    ...repeatedNames(values.headers),
  ];
}

/** A problem of a body's field, at the control that made the field. */
export function atControl({ path, message }: FieldError, values: MonitorFormValues): FieldError {
  const [field = '', ...rest] = path.split('.');
  const key = rest.join('.');
  if (field === 'regions' && rest.length > 0) {
    const region = values.regions[Number(key)];
    return { path: field, message: region === undefined ? message : `${region}: ${message}` };
  }
  if (field !== 'headers' || rest.length === 0) return { path, message };
  const row = filledRows(values.headers).find(({ name }) => name === key);
  if (row === undefined) return { path: field, message: `${key}: ${message}` };
  const isOfValue = !requestHeaders.safeParse({ name: row.value }).success;
  return { path: `headers.${row.index}.${isOfValue ? 'value' : 'name'}`, message };
}

/** Two rows of exactly one name, which a body cannot hold. */
function repeatedNames(headers: readonly HeaderRow[]): FieldError[] {
  const rows = filledRows(headers);
  return rows
    .filter(({ name }, position) => rows.findIndex((row) => row.name === name) < position)
    .map(({ index }) => ({
      path: `headers.${index}.name`,
      message: 'is given twice (header names ignore case)',
    }));
}
