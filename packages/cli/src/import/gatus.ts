import { z } from 'zod';
import { containsVariable, mapTexts } from '../files/interpolate.ts';
import { CliError } from '../terminal/cli-error.ts';
import { toTocsinVariables } from './gatus-variables.ts';
import {
  bodyFor,
  headersFrom,
  textValues,
  labelsFrom,
  seconds,
  skipped,
  unsupportedMethod,
  type Imported,
  type Translation,
} from './translation.ts';

/** Gatus' defaults for alerts without thresholds. */
const DEFAULT_FAILURE_THRESHOLD = 3;
const DEFAULT_SUCCESS_THRESHOLD = 2;

const alert = z.looseObject({
  type: z.string(),
  enabled: z.boolean().nullish(),
  'failure-threshold': z.number().nullish(),
  'success-threshold': z.number().nullish(),
});

/** Supported fields of a Gatus endpoint. */
const endpoint = z.looseObject({
  name: z.string(),
  group: z.string().nullish(),
  enabled: z.boolean().nullish(),
  url: z.string(),
  method: z.string().nullish(),
  body: z.string().nullish(),
  headers: z.record(z.string(), z.unknown()).nullish(),
  interval: z.string().nullish(),
  conditions: z.array(z.string()).nullish(),
  alerts: z.array(alert).nullish(),
  graphql: z.boolean().nullish(),
  'extra-labels': textValues.nullish(),
  client: z
    .looseObject({
      timeout: z.string().nullish(),
      insecure: z.boolean().nullish(),
      'ignore-redirect': z.boolean().nullish(),
    })
    .nullish(),
});
type Endpoint = z.infer<typeof endpoint>;

const named = z.looseObject({ name: z.string() });

/** The daily or weekly maintenance of all endpoints. */
const maintenance = z.looseObject({
  enabled: z.boolean().nullish(),
  start: z.string().nullish(),
  duration: z.string().nullish(),
  timezone: z.string().nullish(),
  every: z.array(z.string()).nullish(),
});

const configuration = z.looseObject({
  endpoints: z.array(z.unknown()).nullish(),
  services: z.array(z.unknown()).nullish(),
  'external-endpoints': z.array(named).nullish(),
  suites: z.array(named).nullish(),
  maintenance: maintenance.nullish().catch({}),
  alerting: z
    .record(z.string(), z.looseObject({ 'default-alert': alert.partial().nullish() }).nullish())
    .nullish(),
});
type Alerting = z.infer<typeof configuration>['alerting'];

/** @param content parsed file @throws CliError if it is not a Gatus configuration */
export function fromGatus(content: unknown): Imported {
  const { data } = configuration.safeParse(mapTexts(content, toTocsinVariables));
  const entries = data?.endpoints ?? data?.services;
  if (!data || !entries)
    throw new CliError('The file is not a Gatus configuration, because it has no `endpoints`.');
  const translated = entries.map((entry, index) => {
    const parsed = endpoint.safeParse(entry);
    return parsed.success
      ? translate(parsed.data, data.alerting)
      : skipped(`endpoint ${index + 1}`, 'it cannot be parsed');
  });
  const others = [...(data['external-endpoints'] ?? []), ...(data.suites ?? [])];
  return {
    translations: [
      ...translated,
      ...others.map(({ name }) => skipped(name, 'suites and external endpoints are not supported')),
    ],
    remarks: data.maintenance ? maintenanceRemarks(data.maintenance) : [],
  };
}

/** A file cannot contain maintenance windows. */
function maintenanceRemarks(gatus: z.infer<typeof maintenance>): string[] {
  const { enabled, start, duration, timezone, every } = gatus;
  if (enabled === false) return [];
  const days = (every ?? []).map((day) => day.slice(0, 2).toUpperCase());
  const rule = days.length === 0 ? 'FREQ=DAILY' : `FREQ=WEEKLY;BYDAY=${days.join(',')}`;
  const when = `from ${start ?? '?'} for ${duration ?? '?'} (${timezone ?? 'UTC'})`;
  return [
    `not imported: maintenance ${when}. Create a maintenance window for all monitors that repeats with ${rule}`,
  ];
}

function translate(gatus: Endpoint, alerting: Alerting): Translation {
  const name = gatus.group ? `${gatus.group} / ${gatus.name}` : gatus.name;
  const unsupported = unsupportedReason(gatus);
  if (unsupported !== null) return skipped(name, unsupported);
  const remarks: string[] = [];
  const method = gatus.method ?? 'GET';
  const fields = {
    name,
    url: gatus.url,
    method,
    interval: seconds(durationSeconds(gatus.interval ?? '60s', remarks), 'interval', remarks),
    timeout: seconds(durationSeconds(gatus.client?.timeout ?? '10s', remarks), 'timeout', remarks),
    ...thresholdsOf(gatus, alerting),
    headers: gatus.headers ? headersFrom(gatus.headers, remarks) : null,
    body: bodyFor(method, gatus.body),
    assertions: assertionsOf(gatus.conditions ?? [], remarks),
    labels: labelsFrom(
      [
        ...(gatus.group ? [['group', gatus.group] as const] : []),
        ...Object.entries(gatus['extra-labels'] ?? {}),
      ],
      remarks,
      containsVariable,
    ),
  };
  return {
    name,
    identity: gatus.url,
    missing: missingOf(gatus),
    fields,
    remarks: [...remarks, ...lossesOf(gatus)],
  };
}

function unsupportedReason({ url, method, enabled, graphql, ...rest }: Endpoint): string | null {
  if (enabled === false) return 'it is disabled, and Tocsin has no paused monitors';
  if (!/^(https?:\/\/|\$\{)/i.test(url)) return `${url.split(':', 1)[0]} is not supported, only HTTP`;
  if (rest['dns'] !== undefined || rest['ssh'] !== undefined) return 'only HTTP is supported';
  if (graphql === true) return 'GraphQL is not supported; write the body as JSON, with method POST';
  return unsupportedMethod(method);
}

/** Credentials in `client` that Tocsin cannot send. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  oauth2: 'OAuth 2 authentication',
  'identity-aware-proxy': 'authentication at an identity-aware proxy',
  tls: 'client certificate',
};

function missingOf({ client }: Endpoint): string[] {
  return Object.entries(CREDENTIALS).flatMap(([key, what]) => (client?.[key] === undefined ? [] : what));
}

/** Settings of `client` without an equivalent. */
const CLIENT_LOSSES: Readonly<Record<string, string>> = {
  ...CREDENTIALS,
  'proxy-url': 'proxy',
  'dns-resolver': 'DNS resolver',
  tunnel: 'tunnel',
};

/** Lists settings without an equivalent or with different behavior. */
function lossesOf({ client, conditions, ...rest }: Endpoint): string[] {
  const lost = Object.entries(CLIENT_LOSSES).filter(([key]) => client?.[key] !== undefined);
  const hasStatusCondition = (conditions ?? []).some((condition) => condition.includes('[STATUS]'));
  return [
    ...(client?.insecure === true ? ['TLS errors are no longer ignored'] : []),
    ...(client?.['ignore-redirect'] === true ? ['redirects are followed, unless `statusCode` is 3xx'] : []),
    ...lost.map(([, setting]) => `not imported: ${setting}`),
    ...(rest['maintenance-windows'] === undefined ? [] : ['not imported: maintenance windows']),
    ...(hasStatusCondition ? [] : ['no condition for the status: Tocsin expects 200 to 399']),
  ];
}

/** Uses the thresholds of the alert that fires first, because a Tocsin monitor has only one of each. */
function thresholdsOf({ alerts }: Endpoint, alerting: Alerting) {
  const [first] = (alerts ?? [])
    .filter(({ enabled }) => enabled !== false)
    .map(({ type, ...own }) => {
      const defaults = alerting?.[type]?.['default-alert'];
      const threshold = (key: 'failure-threshold' | 'success-threshold', fallback: number): number =>
        Math.min([own[key], defaults?.[key]].find((given) => given && given > 0) ?? fallback, 100);
      return {
        failureThreshold: threshold('failure-threshold', DEFAULT_FAILURE_THRESHOLD),
        recoveryThreshold: threshold('success-threshold', DEFAULT_SUCCESS_THRESHOLD),
      };
    })
    .toSorted((one, other) => one.failureThreshold - other.failureThreshold);
  return first;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600 };

/** Parses a Go duration such as `1m30s` as seconds. */
function durationSeconds(duration: string, remarks: string[]): number | undefined {
  const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== duration.trim()) {
    remarks.push(`not imported: duration ${duration} cannot be parsed`);
    return undefined;
  }
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNIT_SECONDS[unit] ?? 0), 0);
}

type Assertions = Record<string, string | number>;

const CONDITIONS: readonly (readonly [RegExp, (first: string, second: string) => Assertions])[] = [
  [/^\[STATUS\] == (\d{3})$/, (code) => ({ statusCode: Number(code) })],
  [/^\[STATUS\] == any\((\d{3})\)$/, (code) => ({ statusCode: Number(code) })],
  // `maxLatency` is inclusive.
  [/^\[RESPONSE_TIME\] < (\d+)$/, (limit) => ({ maxLatency: Number(limit) - 1 })],
  [/^\[RESPONSE_TIME\] <= (\d+)$/, (limit) => ({ maxLatency: Number(limit) })],
  [/^\[BODY\] == pat\(\*([^*?[\]\\]+)\*\)$/s, (part) => ({ bodyContains: part })],
  [/^\[BODY\] != pat\(\*([^*?[\]\\]+)\*\)$/s, (part) => ({ bodyNotContains: part })],
  [
    /^\[CERTIFICATE_EXPIRATION\] >=? (\d+)([hms])$/,
    (count, unit) => ({
      certificateMinDays: Math.max(Math.ceil((Number(count) * (UNIT_SECONDS[unit] ?? 0)) / 86_400), 1),
    }),
  ],
  [/^\[CONNECTED\] == true$/, () => ({})],
];

/** @param remarks receives conditions without an equivalent */
function assertionsOf(conditions: readonly string[], remarks: string[]): Assertions | null {
  const assertions: Assertions = {};
  for (const condition of conditions) {
    const found = CONDITIONS.flatMap(([pattern, toAssertions]) => {
      const match = pattern.exec(condition.trim());
      return match === null ? [] : [toAssertions(match[1] ?? '', match[2] ?? '')];
    })[0];
    if (!found) remarks.push(`not imported: condition ${condition}`);
    else if (Object.keys(found).some((key) => key in assertions))
      remarks.push(`not imported: condition ${condition}, because there is another one of its kind`);
    else Object.assign(assertions, found);
  }
  return Object.keys(assertions).length === 0 ? null : assertions;
}
