import type { FieldError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import {
  type Assertions,
  createMonitorSchema,
  type Monitor,
  monitorConflicts,
} from '@tocsin/contracts/monitors/monitor';
import type { MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { requestHeaders } from '@tocsin/contracts/monitors/request-headers';
import { type HttpMethod, METHODS_WITH_BODY } from '@tocsin/contracts/vocabulary';
import { z } from 'zod';

/** What a field for a number holds: text while it is empty or not whole. */
type Typed = number | string;

export type HeaderRow = {
  /** Tells the rows apart while they are edited. */
  key: string;
  name: string;
  value: string;
};

/** What the form's controls hold; a field that is not set is empty text. */
export type MonitorFormValues = {
  name: string;
  url: string;
  method: HttpMethod;
  headers: HeaderRow[];
  body: string;
  interval: Typed;
  timeout: Typed;
  regions: string[];
  assertions: {
    statusCode: Typed;
    maxLatency: Typed;
    certificateMinDays: Typed;
    bodyContains: string;
    bodyNotContains: string;
  };
  failureThreshold: Typed;
  runbookUrl: string;
  externalId: string;
  source: string;
};

/** A body of the API, not judged yet. */
type MonitorBody = Readonly<Record<Exclude<keyof MonitorInput, 'type'>, unknown>> & {
  readonly assertions: Readonly<Record<string, unknown>> | null;
};

/** @param monitor null: a new one, with the API's defaults */
export function toValues(monitor: Monitor | null): MonitorFormValues {
  const assertions: Assertions = monitor?.assertions ?? {};
  return {
    name: monitor?.name ?? '',
    url: monitor?.url ?? '',
    method: monitor?.method ?? 'GET',
    headers: Object.entries(monitor?.headers ?? {}).map(([name, value]) => ({ key: name, name, value })),
    body: monitor?.body ?? '',
    interval: monitor?.interval ?? LIMITS.intervalSeconds.default,
    timeout: monitor?.timeout ?? LIMITS.timeoutSeconds.default,
    regions: [...(monitor?.regions ?? [])],
    assertions: {
      statusCode: assertions.statusCode ?? '',
      maxLatency: assertions.maxLatency ?? '',
      certificateMinDays: assertions.certificateMinDays ?? '',
      bodyContains: assertions.bodyContains ?? '',
      bodyNotContains: assertions.bodyNotContains ?? '',
    },
    failureThreshold: monitor?.failureThreshold ?? LIMITS.failureThreshold.default,
    runbookUrl: monitor?.runbookUrl ?? '',
    externalId: monitor?.externalId ?? '',
    source: monitor?.source ?? '',
  };
}

/** @param stored the monitor as it is; null: a new one */
export function toBody(values: MonitorFormValues, stored: Pick<Monitor, 'body'> | null): MonitorBody {
  const { name, url, method, interval, timeout, regions, failureThreshold } = values;
  return {
    name,
    url: url.trim(),
    method,
    headers: toHeaders(values.headers),
    // Where the method sends none, the form shows none: what is stored stays.
    body: METHODS_WITH_BODY.has(method) ? textOrNull(values.body) : (stored?.body ?? null),
    interval,
    timeout,
    regions,
    assertions: toAssertions(values.assertions),
    failureThreshold,
    runbookUrl: textOrNull(values.runbookUrl.trim()),
    externalId: textOrNull(values.externalId.trim()),
    source: textOrNull(values.source.trim()),
  };
}

/** The rows that somebody began to fill in, each with its place in the form. */
export function filledRows(headers: readonly HeaderRow[]): { name: string; value: string; index: number }[] {
  return headers
    .map(({ name, value }, index) => ({ name: name.trim(), value, index }))
    .filter(({ name, value }) => name !== '' || value !== '');
}

/** What of `after` is not in `before`: the body of an update, which leaves everything else as it is. */
export function changesBetween(before: MonitorBody, after: MonitorBody): Partial<MonitorBody> {
  const wasThere = new Map<string, unknown>(Object.entries(before));
  return Object.fromEntries(
    Object.entries(after).filter(
      ([key, value]) => JSON.stringify(value) !== JSON.stringify(wasThere.get(key)),
    ),
  );
}

function toHeaders(headers: readonly HeaderRow[]): Record<string, string> | null {
  const rows = filledRows(headers);
  return rows.length === 0 ? null : Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

function toAssertions(assertions: MonitorFormValues['assertions']): Record<string, unknown> | null {
  const set = Object.entries(assertions).filter(([, value]) => value !== '');
  return set.length === 0 ? null : Object.fromEntries(set);
}

function textOrNull(text: string): string | null {
  return text === '' ? null : text;
}

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
