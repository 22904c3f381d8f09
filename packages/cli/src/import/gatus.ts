import { asciiWords } from '@tocsin/contracts/words';
import { z } from 'zod';
import { containsVariable, mapTexts } from '../files/interpolate.ts';
import { CliError } from '../terminal/cli-error.ts';
import {
  type Alert,
  alertingSchema,
  type Alerting,
  alertSchema,
  channelsFrom,
  enabledAlerts,
} from './gatus-alerts.ts';
import { assertionsOf, durationSeconds } from './gatus-conditions.ts';
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
const MAX_VARIABLE_CHARACTERS = 100;

/** Supported fields of a Gatus endpoint. */
const endpoint = z.looseObject({
  name: z.string(),
  group: z.string().nullish(),
  enabled: z.boolean().nullish().catch(null),
  url: z.string(),
  method: z.string().nullish(),
  body: z.string().nullish(),
  headers: z.record(z.string(), z.unknown()).nullish(),
  interval: z.string().nullish(),
  conditions: z.array(z.string()).nullish(),
  alerts: z.array(alertSchema).nullish(),
  graphql: z.boolean().nullish(),
  'extra-labels': textValues.nullish(),
  client: z
    .looseObject({
      timeout: z.string().nullish(),
      insecure: z.boolean().nullish(),
      'ignore-redirect': z.boolean().nullish(),
      tls: z.object({ 'certificate-file': z.string(), 'private-key-file': z.string() }).nullish().catch(null),
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
  alerting: alertingSchema.nullish(),
});

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
  const { method: given, client } = gatus;
  const method = given ?? 'GET';
  const alerts = enabledAlerts(gatus.alerts, alerting);
  const fields = {
    name,
    url: gatus.url,
    enabled: gatus.enabled ?? true,
    method,
    interval: seconds(toSeconds(gatus.interval ?? '60s', remarks), 'interval', remarks),
    timeout: seconds(toSeconds(client?.timeout ?? '10s', remarks), 'timeout', remarks),
    ...thresholdsOf(alerts, remarks),
    headers: gatus.headers ? headersFrom(gatus.headers, remarks) : null,
    body: bodyFor(method, gatus.body),
    followRedirects: client?.['ignore-redirect'] !== true,
    tls: tlsOf(client, remarks),
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
    channels: channelsFrom(alerts, gatus.group, alerting, remarks),
    remarks: [...remarks, ...lossesOf(gatus)],
  };
}

/** The certificate and the key are in files, so variables stand for them. */
function tlsOf(client: Endpoint['client'], remarks: string[]): object | null {
  const fromFile = (file: string): string => {
    const variable = asciiWords(file, '_', MAX_VARIABLE_CHARACTERS).toUpperCase().replace(/^\d/, '_$&');
    remarks.push(`set ${variable} to the content of ${file}`);
    return `\${${variable}}`;
  };
  const files = client?.tls;
  const tls = {
    ...(files && {
      certificate: fromFile(files['certificate-file']),
      key: fromFile(files['private-key-file']),
    }),
    ...(client?.insecure === true && { verify: false }),
  };
  return Object.keys(tls).length === 0 ? null : tls;
}

function unsupportedReason({ url, method, graphql, ...rest }: Endpoint): string | null {
  if (!/^(https?:\/\/|\$\{)/i.test(url)) return `${url.split(':', 1)[0]} is not supported, only HTTP`;
  if (rest['dns'] !== undefined || rest['ssh'] !== undefined) return 'only HTTP is supported';
  if (graphql === true) return 'GraphQL is not supported; write the body as JSON, with method POST';
  return unsupportedMethod(method);
}

/** Credentials in `client` that Tocsin cannot send. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  oauth2: 'OAuth 2 authentication',
  'identity-aware-proxy': 'authentication at an identity-aware proxy',
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

/** Lists settings without an equivalent. */
function lossesOf({ client, ...rest }: Endpoint): string[] {
  const lost = Object.entries(CLIENT_LOSSES).filter(([key]) => client?.[key] !== undefined);
  return [
    ...lost.map(([, setting]) => `not imported: ${setting}`),
    ...(rest['maintenance-windows'] === undefined ? [] : ['not imported: maintenance windows']),
  ];
}

/** Uses the thresholds of the alert that fires first, because a Tocsin monitor has only one of each. */
function thresholdsOf(alerts: readonly Alert[], remarks: string[]) {
  const [first, ...others] = alerts
    .map((alert) => ({
      failureThreshold: Math.min(alert['failure-threshold'] ?? DEFAULT_FAILURE_THRESHOLD, 100),
      recoveryThreshold: Math.min(alert['success-threshold'] ?? DEFAULT_SUCCESS_THRESHOLD, 100),
    }))
    .toSorted((one, other) => one.failureThreshold - other.failureThreshold);
  if (others.some((other) => JSON.stringify(other) !== JSON.stringify(first)))
    remarks.push('all alerts now have the thresholds of the first one');
  return first;
}

function toSeconds(duration: string, remarks: string[]): number | undefined {
  const parsed = durationSeconds(duration);
  if (parsed === null) remarks.push(`not imported: duration ${duration} cannot be parsed`);
  return parsed ?? undefined;
}
