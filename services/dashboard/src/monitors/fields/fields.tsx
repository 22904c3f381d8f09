import { LIMITS } from '@tocsin/contracts/limits';
import type { Assertions } from '@tocsin/contracts/monitors/assertions';
import type { TlsSettings } from '@tocsin/contracts/monitors/connection';
import type { Monitor, MonitorInput } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { formatSpan } from '../../components/format.ts';
import { ExternalLink } from '../../components/text.tsx';
import { conditionText } from './condition-rows.ts';
import { HeaderList, LabelList, RegionList, RequestBody } from './values.tsx';

/** One field edits `statusCode` and `statusCodes`. */
type FormAssertion = Exclude<keyof Assertions, 'statusCode'>;
/** Path of a field in a request body. */
export type FieldPath =
  | Exclude<keyof MonitorInput, 'assertions' | 'tls'>
  | `assertions.${FormAssertion}`
  | `tls.${keyof TlsSettings}`;

/** How a field is edited and shown. The API defines its type, limits and default. */
export interface Field {
  readonly label: string;
  /** Follows the label in the form. */
  readonly unit?: string;
  readonly help?: string;
  /** Control in `edit/controls.tsx`. */
  readonly control:
    | 'text'
    | 'url'
    | 'number'
    | 'textarea'
    | 'readOnly'
    | 'method'
    | 'headers'
    | 'body'
    | 'interval'
    | 'retryInterval'
    | 'regions'
    | 'labels'
    | 'switch'
    | 'ipFamily'
    | 'pem'
    | 'pemKey'
    | 'statusCodes'
    | 'headerConditions'
    | 'jsonConditions';
  /** Makes the field as wide as two fields. */
  readonly wide?: true;
  readonly required?: true;
  readonly placeholder?: string;
  readonly limits?: { readonly min: number; readonly max: number; readonly step?: number };
  /** Renders the value on the monitor's page. Null hides it. @default the value, or "None" */
  readonly Value?: ((props: { readonly monitor: Monitor }) => ReactNode) | null;
  /** Formats an assertion as sentences. */
  readonly rules?: (assertions: Assertions) => readonly (string | false)[];
}

type Fields = Partial<Record<FieldPath, Field>>;

const REQUEST = {
  name: {
    label: 'Name',
    control: 'text',
    wide: true,
    required: true,
    placeholder: 'Shop, checkout',
    Value: null,
  },
  url: {
    label: 'URL',
    control: 'url',
    wide: true,
    required: true,
    placeholder: 'https://shop.example.com/health',
    Value: ({ monitor: { method, url } }) => `${method} ${url}`,
  },
  type: { label: 'Type', control: 'readOnly' },
  method: {
    label: 'Method',
    control: 'method',
    help: 'HEAD requests no response body.',
    Value: null,
  },
  headers: { label: 'Headers', control: 'headers', wide: true, Value: HeaderList },
  body: {
    label: 'Body',
    control: 'body',
    wide: true,
    help: 'Sent unchanged. Set its type in a Content-Type header.',
    Value: RequestBody,
  },
} satisfies Fields;

const CONNECTION = {
  followRedirects: {
    label: 'Follow redirects',
    help: 'Otherwise, the first response decides.',
    control: 'switch',
    Value: ({ monitor }) => (monitor.followRedirects ? 'Followed' : 'Not followed'),
  },
  ipFamily: {
    label: 'IP version',
    control: 'ipFamily',
    Value: ({ monitor: { ipFamily } }) => (ipFamily === null ? 'Any' : `Only IPv${ipFamily}`),
  },
  connectTo: {
    label: 'Connect to',
    help: 'A host or address, with an optional port, in place of the URL’s. Host header and certificate stay those of the URL.',
    control: 'text',
    placeholder: '192.0.2.1:8443',
  },
  'tls.serverName': {
    label: 'TLS server name',
    help: 'In place of the URL’s host.',
    control: 'text',
    placeholder: 'shop.example.com',
  },
  'tls.ca': {
    label: 'Trusted CAs',
    help: 'PEM certificates. No other CAs are trusted then.',
    control: 'pem',
    wide: true,
    placeholder: '-----BEGIN CERTIFICATE-----',
  },
  'tls.certificate': {
    label: 'Client certificate',
    help: 'A PEM certificate, then its chain. Only the origin of the URL gets it.',
    control: 'pem',
    wide: true,
    placeholder: '-----BEGIN CERTIFICATE-----',
  },
  'tls.key': {
    label: 'Client key',
    help: 'The PEM private key of the client certificate, without a passphrase.',
    control: 'pemKey',
    wide: true,
  },
  'tls.verify': {
    label: 'Verify the server certificate',
    help: 'Otherwise, any certificate is accepted.',
    control: 'switch',
  },
} satisfies Fields;

const SCHEDULE = {
  enabled: {
    label: 'Enabled',
    help: 'Otherwise, the monitor is paused: no checks and no alerts.',
    control: 'switch',
    wide: true,
    Value: ({ monitor }) => (monitor.enabled ? 'Yes' : 'No, paused'),
  },
  interval: {
    label: 'Interval',
    unit: 'seconds',
    help: 'How often each region checks.',
    control: 'interval',
    limits: LIMITS.intervalSeconds,
    required: true,
    Value: ({ monitor }) => formatSpan(monitor.interval),
  },
  timeout: {
    label: 'Timeout',
    unit: 'seconds',
    help: 'For the whole check, including redirects.',
    control: 'number',
    limits: LIMITS.timeoutSeconds,
    required: true,
    Value: ({ monitor }) => formatSpan(monitor.timeout),
  },
  regions: { label: 'Regions', control: 'regions', wide: true, Value: RegionList },
} satisfies Fields;

const ASSERTIONS = {
  'assertions.statusCodes': {
    label: 'Status codes',
    help: 'Codes and ranges that pass.',
    control: 'statusCodes',
    placeholder: '200-399',
    rules: ({ statusCode, statusCodes }) => [
      statusCode !== undefined && `Status code is ${statusCode}`,
      statusCodes !== undefined && `Status code is one of ${statusCodes.join(', ')}`,
    ],
  },
  'assertions.maxLatency': {
    label: 'Maximum latency',
    unit: 'ms',
    help: 'For the whole check.',
    control: 'number',
    placeholder: 'Any',
    limits: { min: 1, max: LIMITS.maxLatencyMs, step: 100 },
    rules: ({ maxLatency: ms }) => [ms !== undefined && `Latency is at most ${ms} ms`],
  },
  'assertions.certificateMinDays': {
    label: 'Minimum certificate validity',
    unit: 'days',
    help: 'For all certificates of the check, except the trusted root.',
    control: 'number',
    placeholder: 'Any',
    limits: { min: 1, max: LIMITS.certificateMinDays },
    rules: ({ certificateMinDays: days }) => [
      days !== undefined && `Certificate is valid for at least ${days} days`,
    ],
  },
  failureThreshold: {
    label: 'Failure threshold',
    help: 'Consecutive failures until a region counts as failing.',
    control: 'number',
    limits: LIMITS.failureThreshold,
    required: true,
    Value: ({ monitor: { failureThreshold: count } }) =>
      count === 1 ? '1 failure' : `${count} consecutive failures`,
  },
  retryInterval: {
    label: 'Retry interval',
    unit: 'seconds',
    help: 'Checks again sooner after a failure.',
    control: 'retryInterval',
    placeholder: 'None',
    limits: LIMITS.retryIntervalSeconds,
    Value: ({ monitor: { retryInterval } }) => (retryInterval === null ? 'None' : formatSpan(retryInterval)),
  },
  recoveryThreshold: {
    label: 'Recovery threshold',
    help: 'Consecutive passes until a region recovers.',
    control: 'number',
    limits: LIMITS.recoveryThreshold,
    required: true,
    Value: ({ monitor: { recoveryThreshold: count } }) =>
      count === 1 ? '1 pass' : `${count} consecutive passes`,
  },
  'assertions.bodyContains': {
    label: 'Body contains',
    help: 'Searches the first MiB of the response.',
    control: 'textarea',
    wide: true,
    rules: ({ bodyContains: text }) => [text !== undefined && `Body contains “${text}”`],
  },
  'assertions.bodyNotContains': {
    label: 'Body does not contain',
    control: 'textarea',
    wide: true,
    rules: ({ bodyNotContains: text }) => [text !== undefined && `Body does not contain “${text}”`],
  },
  'assertions.bodyMatches': {
    label: 'Body matches',
    help: 'A regular expression in RE2 syntax.',
    control: 'text',
    wide: true,
    placeholder: 'version: \\d+\\.\\d+',
    rules: ({ bodyMatches }) => [bodyMatches !== undefined && `Body matches /${bodyMatches}/`],
  },
  'assertions.json': {
    label: 'JSON',
    help: 'Values in a JSON body, selected by JSONPath. If a path selects several values, one must pass.',
    control: 'jsonConditions',
    wide: true,
    rules: ({ json = [] }) => json.map((condition) => `JSON ${conditionText(condition)}`),
  },
  'assertions.headers': {
    label: 'Response headers',
    control: 'headerConditions',
    wide: true,
    rules: ({ headers = [] }) => headers.map((condition) => `Header ${conditionText(condition)}`),
  },
} satisfies Fields;

const ADVANCED = {
  runbookUrl: {
    label: 'Runbook URL',
    help: 'What to do when the monitor is down. Webhooks include it.',
    control: 'url',
    wide: true,
    placeholder: 'https://wiki.example.com/shop-is-down',
    Value: ({ monitor: { runbookUrl } }) =>
      runbookUrl === null ? 'None' : <ExternalLink href={runbookUrl}>{runbookUrl}</ExternalLink>,
  },
  externalId: {
    label: 'External ID',
    help: 'Your own key for the monitor, unique in the account.',
    control: 'text',
  },
  source: {
    label: 'Source',
    help: 'The set of monitors as code that owns the monitor.',
    control: 'text',
  },
  labels: {
    label: 'Labels',
    help: 'Channels and maintenance windows can select monitors by their labels.',
    control: 'labels',
    wide: true,
    Value: LabelList,
  },
} satisfies Fields;

/** Form fields in order. To add a field, add it to the API, the database and here. */
export const SECTIONS: Readonly<Record<string, Fields>> = {
  Request: REQUEST,
  Connection: CONNECTION,
  Schedule: SCHEDULE,
  Assertions: ASSERTIONS,
  Advanced: ADVANCED,
};
export const FIELDS: Readonly<Record<FieldPath, Field>> = {
  ...REQUEST,
  ...CONNECTION,
  ...SCHEDULE,
  ...ASSERTIONS,
  ...ADVANCED,
};

/** Paths of fields in order. */
export function pathsOf(fields: Fields): FieldPath[] {
  return Object.keys(fields) as FieldPath[];
}

export function isTls(path: string): path is `tls.${keyof TlsSettings}` {
  return path.startsWith('tls.');
}

export function isAssertion(path: string): path is `assertions.${FormAssertion}` {
  return path.startsWith('assertions.');
}
