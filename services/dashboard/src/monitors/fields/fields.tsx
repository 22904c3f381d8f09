import { LIMITS } from '@tocsin/contracts/limits';
import type { Assertions, Monitor, MonitorInput } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { formatSpan } from '../../components/format.ts';
import { ExternalLink } from '../../components/text.tsx';
import { HeaderList, LabelList, RegionList, RequestBody } from './values.tsx';

/** Path of a field in a request body. */
export type FieldPath = Exclude<keyof MonitorInput, 'assertions'> | `assertions.${keyof Assertions}`;

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
    | 'labels';
  /** Makes the field as wide as two fields. */
  readonly wide?: true;
  readonly required?: true;
  readonly placeholder?: string;
  readonly limits?: { readonly min: number; readonly max: number; readonly step?: number };
  /** Renders the value on the monitor's page. Null hides it. @default the value, or "None" */
  readonly Value?: ((props: { readonly monitor: Monitor }) => ReactNode) | null;
  /** Formats an assertion as a sentence. */
  readonly rule?: (value: string | number) => string;
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

const SCHEDULE = {
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
  'assertions.statusCode': {
    label: 'Status code',
    help: 'The only status code that passes.',
    control: 'number',
    placeholder: '200 to 399',
    limits: { min: 100, max: 599 },
    rule: (code) => `Status code is ${code}`,
  },
  'assertions.maxLatency': {
    label: 'Maximum latency',
    unit: 'ms',
    help: 'For the whole check.',
    control: 'number',
    placeholder: 'Any',
    limits: { min: 1, max: LIMITS.maxLatencyMs, step: 100 },
    rule: (ms) => `Latency is at most ${ms} ms`,
  },
  'assertions.certificateMinDays': {
    label: 'Minimum certificate validity',
    unit: 'days',
    help: 'How long the certificate must still be valid.',
    control: 'number',
    placeholder: 'Any',
    limits: { min: 1, max: LIMITS.certificateMinDays },
    rule: (days) => `Certificate is valid for at least ${days} days`,
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
    rule: (text) => `Body contains “${text}”`,
  },
  'assertions.bodyNotContains': {
    label: 'Body does not contain',
    control: 'textarea',
    wide: true,
    rule: (text) => `Body does not contain “${text}”`,
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
  Schedule: SCHEDULE,
  Assertions: ASSERTIONS,
  Advanced: ADVANCED,
};
export const FIELDS: Readonly<Record<FieldPath, Field>> = {
  ...REQUEST,
  ...SCHEDULE,
  ...ASSERTIONS,
  ...ADVANCED,
};

/** Paths of fields in order. */
export function pathsOf(fields: Fields): FieldPath[] {
  return Object.keys(fields) as FieldPath[];
}

export function isAssertion(path: string): path is `assertions.${keyof Assertions}` {
  return path.startsWith('assertions.');
}
