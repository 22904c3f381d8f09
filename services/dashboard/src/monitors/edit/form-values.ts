import type { FieldError } from '@tocsin/contracts/errors';
import { labelTexts } from '@tocsin/contracts/labels/labels';
import { LIMITS } from '@tocsin/contracts/limits';
import type { Assertions } from '@tocsin/contracts/monitors/assertions';
import type { TlsSettings } from '@tocsin/contracts/monitors/connection';
import {
  createMonitorSchema,
  type Monitor,
  MONITOR_DEFAULTS,
  monitorConflicts,
  type MonitorInput,
} from '@tocsin/contracts/monitors/monitor';
import { METHODS_WITH_BODY } from '@tocsin/contracts/vocabulary';
import { type ApiForm, bodyErrors } from '../../components/form.ts';
import {
  type HeaderRow,
  repeatedNames,
  toHeaderField,
  toHeaderRows,
  toHeaders,
} from '../../components/header-rows.ts';
import { findLabelError, toLabels } from '../../labels/label-text.ts';
import type { ChannelChoices } from './channel-choices.ts';
import { type ConditionRow, toConditions, toRows } from '../fields/condition-rows.ts';

/** A number field contains text while it is empty or invalid. */
type NumberValue = number | string;

/** The type of a monitor cannot be changed. */
type Field = Exclude<keyof MonitorInput, 'type'>;
const FIELDS = createMonitorSchema.keyof().exclude(['type']).options;

const SINGLE_ASSERTIONS = [
  ...(['bodyContains', 'bodyNotContains', 'bodyMatches'] as const),
  ...(['maxLatency', 'certificateMinDays'] as const),
];
type AssertionValues = Record<(typeof SINGLE_ASSERTIONS)[number], NumberValue> & {
  /** Codes and ranges. A single code is saved as `statusCode`. */
  statusCodes: string[];
  headers: ConditionRow[];
  json: ConditionRow[];
};

type FieldValue<Value> = number extends Value ? NumberValue : NonNullable<Value>;
/** Unset fields are empty strings. Labels are formatted as `key=value`. */
export type MonitorFormValues = {
  [Key in Exclude<Field, 'headers' | 'ipFamily' | 'tls' | 'assertions' | 'labels'>]: FieldValue<
    MonitorInput[Key]
  >;
} & {
  headers: HeaderRow[];
  ipFamily: '' | '4' | '6';
  tls: Record<Exclude<keyof TlsSettings, 'verify'>, string> & { verify: boolean };
  assertions: AssertionValues;
  labels: string[];
  channels: ChannelChoices;
};

export type MonitorForm = ApiForm<MonitorFormValues>;

/** A request body that is not validated yet. */
type MonitorBody = Readonly<Record<Field, unknown>> & {
  readonly assertions: Readonly<Record<string, unknown>> | null;
};

const NO_TLS = { serverName: '', ca: '', certificate: '', key: '', verify: true };

/** @param monitor null for a new monitor, which starts with the API's defaults */
export function toValues(monitor: Monitor | null): MonitorFormValues {
  const input: MonitorInput = monitor ?? { name: '', url: '', ...MONITOR_DEFAULTS };
  const values = Object.fromEntries(FIELDS.map((field) => [field, input[field] ?? '']));
  return {
    ...(values as Omit<
      MonitorFormValues,
      'headers' | 'ipFamily' | 'tls' | 'assertions' | 'labels' | 'channels'
    >),
    headers: toHeaderRows(input.headers),
    ipFamily: input.ipFamily === null ? '' : `${input.ipFamily}`,
    tls: { ...NO_TLS, ...(input.tls as Partial<MonitorFormValues['tls']> | null) },
    assertions: toAssertionValues(input.assertions),
    labels: labelTexts(input.labels),
    channels: {},
  };
}

/** @param stored the edited monitor, or null for a new one */
export function toBody(values: MonitorFormValues, stored: Pick<Monitor, 'body'> | null): MonitorBody {
  const tls = Object.entries(values.tls).filter(([, value]) => value !== '' && value !== true);
  return {
    ...(Object.fromEntries(FIELDS.map((field) => [field, toInput(field, values[field])])) as MonitorBody),
    headers: toHeaders(values.headers),
    labels: toLabels(values.labels),
    ipFamily: values.ipFamily === '' ? null : Number(values.ipFamily),
    tls: tls.length === 0 ? null : Object.fromEntries(tls),
    assertions: toAssertions(values.assertions),
    // The form hides the body if the method sends none, and keeps the stored body.
    body: METHODS_WITH_BODY.has(values.method) ? values.body || null : (stored?.body ?? null),
  };
}

function toAssertionValues(assertions: Assertions | null): AssertionValues {
  const { statusCode, statusCodes, headers, json } = assertions ?? {};
  const single = Object.fromEntries(SINGLE_ASSERTIONS.map((key) => [key, assertions?.[key] ?? '']));
  return {
    ...(single as Record<(typeof SINGLE_ASSERTIONS)[number], NumberValue>),
    statusCodes: (statusCodes ?? (statusCode === undefined ? [] : [statusCode])).map(String),
    headers: toRows(headers),
    json: toRows(json),
  };
}

function toAssertions({ statusCodes, headers, json, ...single }: AssertionValues): MonitorBody['assertions'] {
  const codes = statusCodes.map((code) => (/^\d+$/.test(code) ? Number(code) : code));
  const [first] = codes;
  const isOne = codes.length === 1 && typeof first === 'number';
  const all = Object.entries({
    statusCode: isOne ? first : undefined,
    statusCodes: isOne || codes.length === 0 ? undefined : codes,
    headers: toConditions(headers, 'name'),
    json: toConditions(json, 'path'),
    ...single,
  }).filter(([, value]) => value !== undefined && value !== '');
  return all.length === 0 ? null : Object.fromEntries(all);
}

/** The request body of a trial check, to which only the check's settings matter. */
export function toTrialBody(values: MonitorFormValues, stored: Pick<Monitor, 'body'> | null): MonitorBody {
  return { ...toBody(values, stored), enabled: true, name: 'Test', externalId: null, source: null };
}

/** Returns the values for a copy, without the fields that identify the original. */
export function toCopy(monitor: Monitor): MonitorFormValues {
  const name = `Copy of ${monitor.name}`.slice(0, LIMITS.nameCharacters);
  return { ...toValues(monitor), name, externalId: '', source: '' };
}

/** Converts an empty field to null if the API allows it. */
function toInput(field: Field, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const text = value.trim();
  return text === '' && createMonitorSchema.shape[field].safeParse(null).success ? null : text;
}

/** Validates the request body like the API. Returns the paths of form fields, such as `headers.0.value`. */
export function findErrors(
  values: MonitorFormValues,
  stored: Pick<Monitor, 'body'> | null,
): readonly FieldError[] {
  const body = toBody(values, stored);
  const conflicts = monitorConflicts({ method: values.method, assertions: body.assertions });
  const labelError = findLabelError(values.labels);
  return [
    ...[...bodyErrors(createMonitorSchema, body), ...conflicts].map((error) => toFormField(error, values)),
    ...repeatedNames(values.headers),
    ...(labelError === null ? [] : [{ path: 'labels', message: labelError }]),
  ];
}

/** Maps an error in the request body to a field of the form. */
export function toFormField({ path, message }: FieldError, values: MonitorFormValues): FieldError {
  const [field = '', ...rest] = path.split('.');
  const key = rest.join('.');
  if (path === 'tls') return { path: 'tls.certificate', message };
  if (field === 'labels' && rest.length > 0) return { path: field, message: `${key}: ${message}` };
  if (field === 'regions' && rest.length > 0) {
    const region = values.regions[Number(key)];
    return { path: field, message: region === undefined ? message : `${region}: ${message}` };
  }
  if (field === 'assertions') return { path: toAssertionPath(path), message };
  return toHeaderField({ path, message }, values.headers);
}

/** Maps parts of a condition to the inputs of its row. */
function toAssertionPath(path: string): string {
  return path
    .replace(/^(assertions\.statusCode)$/, '$1s')
    .replace(/^(assertions\.(?:headers|json)\.\d+)\.(.+)$/, (_path, row: string, part: string) =>
      part === 'name' || part === 'path' ? `${row}.subject` : `${row}.value`,
    );
}

/** Explains why the retry interval has no effect. Null if it has one or is not set. */
export function retryNote(
  values: Pick<MonitorFormValues, 'interval' | 'retryInterval' | 'failureThreshold'>,
): string | null {
  const { interval, retryInterval, failureThreshold } = values;
  if (typeof retryInterval !== 'number') return null;
  if (failureThreshold === 1) return 'Not used: with a failure threshold of 1, the first failure counts.';
  return typeof interval === 'number' && retryInterval >= interval
    ? 'Not used: it is not shorter than the interval.'
    : null;
}
