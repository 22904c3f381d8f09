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
import { type ApiForm, bodyErrors } from '../../components/form.ts';

/** The value of a number field: text while it is empty or not a number. */
type NumberValue = number | string;

export type HeaderRow = {
  /** Identifies the row while it is edited. */
  key: string;
  name: string;
  value: string;
};

/** The values of the form's fields. An unset field is an empty string. */
export type MonitorFormValues = {
  name: string;
  url: string;
  method: HttpMethod;
  headers: HeaderRow[];
  body: string;
  interval: NumberValue;
  timeout: NumberValue;
  regions: string[];
  assertions: {
    statusCode: NumberValue;
    maxLatency: NumberValue;
    certificateMinDays: NumberValue;
    bodyContains: string;
    bodyNotContains: string;
  };
  failureThreshold: NumberValue;
  runbookUrl: string;
  externalId: string;
  source: string;
};

export type MonitorForm = ApiForm<MonitorFormValues>;

/** A request body that is not validated yet. */
type MonitorBody = Readonly<Record<Exclude<keyof MonitorInput, 'type'>, unknown>> & {
  readonly assertions: Readonly<Record<string, unknown>> | null;
};

/** @param monitor null for a new monitor, which starts with the defaults of the API */
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

/** @param stored the monitor that is edited, or null */
export function toBody(values: MonitorFormValues, stored: Pick<Monitor, 'body'> | null): MonitorBody {
  const { name, url, method, interval, timeout, regions, failureThreshold } = values;
  return {
    name,
    url: url.trim(),
    method,
    headers: toHeaders(values.headers),
    // The form hides the body if the method sends none. The stored body stays.
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

/** The rows that are not empty, with their indexes in the form. */
function filledRows(headers: readonly HeaderRow[]): { name: string; value: string; index: number }[] {
  return headers
    .map(({ name, value }, index) => ({ name: name.trim(), value, index }))
    .filter(({ name, value }) => name !== '' || value !== '');
}

/** The fields of `after` that differ from `before`: the body of an update. */
export function changesBetween(before: MonitorBody, after: MonitorBody): Partial<MonitorBody> {
  return Object.fromEntries(
    Object.entries(after).filter(
      ([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key as keyof MonitorBody]),
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

/** Validates the body that the values make, as the API does. The paths are those of the form, such as `headers.0.value`. */
export function findErrors(
  values: MonitorFormValues,
  stored: Pick<Monitor, 'body'> | null,
): readonly FieldError[] {
  const body = toBody(values, stored);
  const conflicts = monitorConflicts({ method: values.method, assertions: body.assertions });
  return [
    ...[...bodyErrors(createMonitorSchema, body), ...conflicts].map((error) => toFormField(error, values)),
    ...repeatedNames(values.headers),
  ];
}

/** Maps an error of a body's field to the field of the form. */
export function toFormField({ path, message }: FieldError, values: MonitorFormValues): FieldError {
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

/** A body cannot have two headers of the same name. */
function repeatedNames(headers: readonly HeaderRow[]): FieldError[] {
  const rows = filledRows(headers);
  return rows
    .filter(({ name }, position) => rows.findIndex((row) => row.name === name) < position)
    .map(({ index }) => ({
      path: `headers.${index}.name`,
      message: 'is a duplicate (header names ignore case)',
    }));
}
