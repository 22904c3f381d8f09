import { HTTP_METHODS } from '@tocsin/contracts/vocabulary';
import { z } from 'zod';
import { CliError } from '../terminal/cli-error.ts';
import { headerValues, seconds, type Translation } from './translation.ts';

type Assertions = Record<string, string | number>;

/** One condition as assertions; null: it is no such condition. */
type Rule = (condition: string) => Assertions | null;

const HOURS: Readonly<Record<string, number>> = { h: 1, m: 1 / 60, s: 1 / 3_600 };

const RULES: readonly Rule[] = [
  matching(/^\[STATUS\] == (\d{3})$/, ([code]) => ({ statusCode: Number(code) })),
  matching(/^\[STATUS\] == any\((\d{3})\)$/, ([code]) => ({ statusCode: Number(code) })),
  // Gatus has it strictly less, Tocsin at most.
  matching(/^\[RESPONSE_TIME\] < (\d+)$/, ([limit]) => ({ maxLatency: Number(limit) - 1 })),
  matching(/^\[RESPONSE_TIME\] <= (\d+)$/, ([limit]) => ({ maxLatency: Number(limit) })),
  matching(/^\[BODY\] == pat\(\*([^*?[\]\\]+)\*\)$/s, ([part = '']) => ({ bodyContains: part })),
  matching(/^\[BODY\] != pat\(\*([^*?[\]\\]+)\*\)$/s, ([part = '']) => ({ bodyNotContains: part })),
  matching(/^\[CERTIFICATE_EXPIRATION\] >=? (\d+)([hms])$/, ([count, unit = '']) => ({
    certificateMinDays: Math.max(Math.ceil((Number(count) * (HOURS[unit] ?? 0)) / 24), 1),
  })),
  matching(/^\[CONNECTED\] == true$/, () => ({})),
];

function matching(pattern: RegExp, toAssertions: (groups: readonly string[]) => Assertions): Rule {
  return (condition) => {
    const match = pattern.exec(condition);
    return match === null ? null : toAssertions(match.slice(1));
  };
}

/** What Gatus' conditions come to. @param remarks takes those that Tocsin has no assertion for */
export function gatusAssertions(conditions: readonly string[], remarks: string[]): Assertions | null {
  const assertions: Assertions = {};
  for (const condition of conditions) {
    const found = RULES.map((rule) => rule(condition.trim())).find((result) => result !== null);
    if (!found) remarks.push(`the condition ${condition} is not taken over`);
    else if (Object.keys(found).some((key) => key in assertions))
      remarks.push(`the condition ${condition} is not taken over: there is another one of its kind`);
    else Object.assign(assertions, found);
  }
  return Object.keys(assertions).length === 0 ? null : assertions;
}

/**
 * Gatus puts variables of the environment in the place of `$NAME` and `${NAME}`, and has `$$` for a `$`. @returns the text as a
 * `tocsin.yaml` has it, where `${NAME}` alone is a variable, and `$${` a `${` as it stands
 */
function fromGatusText(text: string): string {
  return text.replaceAll(
    /\$\$(\{)?|\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|\$\{/g,
    (found: string, brace: string | undefined, braced: string | undefined, bare: string | undefined) => {
      if (found.startsWith('$$')) return brace === undefined ? '$' : '$${';
      const name = braced ?? bare;
      return name === undefined ? '$${' : `\${${name}}`;
    },
  );
}

/** The same of every text of a value. */
export function fromGatusTexts(value: unknown): unknown {
  if (typeof value === 'string') return fromGatusText(value);
  if (Array.isArray(value)) return value.map(fromGatusTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, fromGatusTexts(part)]));
}

/**
 * A URL of a `tocsin.yaml` as it may be once its variables are set, to be judged: one at the start is a scheme or begins with one, one
 * after a colon is a port.
 */
export function withStandIns(url: string): string {
  return url.replaceAll(/\$\$\{|\$\{\w+\}/g, (found: string, offset: number) => {
    if (found === '$${') return found;
    if (offset === 0) return url.startsWith('://', found.length) ? 'https' : 'https://variable.invalid';
    return url[offset - 1] === ':' ? '443' : 'variable';
  });
}

/** Gatus' own, where an alert names none. */
const DEFAULT_FAILURE_THRESHOLD = 3;

const alert = z.looseObject({
  type: z.string(),
  enabled: z.boolean().nullish(),
  'failure-threshold': z.number().nullish(),
});

/** An endpoint of Gatus' configuration, as far as it says something to Tocsin. */
const endpoint = z.looseObject({
  name: z.string(),
  group: z.string().nullish(),
  enabled: z.boolean().nullish(),
  url: z.string(),
  method: z.string().nullish(),
  body: z.string().nullish(),
  headers: headerValues.nullish(),
  interval: z.string().nullish(),
  conditions: z.array(z.string()).nullish(),
  alerts: z.array(alert).nullish(),
  graphql: z.boolean().nullish(),
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

const configuration = z.looseObject({
  endpoints: z.array(z.unknown()).nullish(),
  services: z.array(z.unknown()).nullish(),
  'external-endpoints': z.array(named).nullish(),
  suites: z.array(named).nullish(),
  alerting: z
    .record(z.string(), z.looseObject({ 'default-alert': alert.partial().nullish() }).nullish())
    .nullish(),
});
type Alerting = z.infer<typeof configuration>['alerting'];

/** @param content the parsed configuration. @throws CliError where it is none */
export function fromGatus(content: unknown): Translation[] {
  const parsed = configuration.safeParse(fromGatusTexts(content));
  const entries = parsed.data?.endpoints ?? parsed.data?.services;
  if (!entries) throw new CliError('This is no configuration of Gatus: it has no `endpoints`.');
  const others = [...(parsed.data?.['external-endpoints'] ?? []), ...(parsed.data?.suites ?? [])];
  const translated = entries.map((entry, index): Translation => {
    const one = endpoint.safeParse(entry);
    if (one.success) return translate(one.data, parsed.data?.alerting);
    return { name: `endpoint ${index + 1}`, fields: null, remarks: ['left out: it cannot be read'] };
  });
  const leftOut = others.map(({ name }): Translation => ({
    name,
    fields: null,
    remarks: ['left out: it is a suite, or an external endpoint; Tocsin checks URLs by itself'],
  }));
  return [...translated, ...leftOut];
}

function translate(gatus: Endpoint, alerting: Alerting): Translation {
  const name = gatus.group ? `${gatus.group} / ${gatus.name}` : gatus.name;
  const obstacle = obstacleOf(gatus);
  if (obstacle !== null) return { name, fields: null, remarks: [`left out: ${obstacle}`] };
  const remarks: string[] = [];
  const method = gatus.method ?? 'GET';
  const fields = {
    name,
    url: gatus.url,
    method,
    interval: seconds(durationSeconds(gatus.interval ?? '60s', remarks), 'interval', remarks),
    timeout: seconds(durationSeconds(gatus.client?.timeout ?? '10s', remarks), 'timeout', remarks),
    failureThreshold: thresholdOf(gatus, alerting),
    headers: gatus.headers ?? null,
    body: ['POST', 'PUT', 'PATCH'].includes(method) ? (gatus.body ?? null) : null,
    assertions: gatusAssertions(gatus.conditions ?? [], remarks),
  };
  return { name, fields, remarks: [...remarks, ...losses(gatus)] };
}

/** What of `client` Tocsin has nothing for, and what each is. */
const CLIENT_LOSSES: Readonly<Record<string, string>> = {
  oauth2: 'signing in by OAuth 2 is',
  'identity-aware-proxy': 'signing in at an identity-aware proxy is',
  tls: 'its client certificate is',
  'proxy-url': 'its proxy is',
  'dns-resolver': 'its DNS resolver is',
  tunnel: 'its tunnel is',
};

/** What Tocsin has no field for, or does in another way. */
function losses({ client, conditions, ...rest }: Endpoint): string[] {
  const lost = Object.keys(CLIENT_LOSSES).filter((key) => client?.[key] !== undefined);
  const judgesStatus = (conditions ?? []).some((condition) => condition.includes('[STATUS]'));
  return [
    ...(client?.insecure === true
      ? ['errors of TLS are no longer ignored: Tocsin verifies certificates']
      : []),
    ...(client?.['ignore-redirect'] === true ? ['redirects are followed, unless `statusCode` is a 3xx'] : []),
    ...lost.map((key) => `${CLIENT_LOSSES[key]} not taken over`),
    ...(rest['maintenance-windows'] === undefined ? [] : ['its maintenance windows are not taken over']),
    ...(judgesStatus ? [] : ['no condition is about the status: in Tocsin it must be 200 to 399']),
  ];
}

function obstacleOf({ url, method, enabled, graphql, ...rest }: Endpoint): string | null {
  if (enabled === false) return 'it is not enabled; Tocsin has no paused monitors';
  if (!/^(https?:\/\/|\$\{)/i.test(url)) return `${url.split(':', 1)[0]}: Tocsin checks HTTP`;
  if (rest['dns'] !== undefined || rest['ssh'] !== undefined) return 'Tocsin checks HTTP only';
  if (graphql === true) return 'GraphQL: write its body as JSON, with method POST';
  const known: readonly string[] = HTTP_METHODS;
  return known.includes(method ?? 'GET') ? null : `method ${method} is not one of ${known.join(', ')}`;
}

/** The lowest of its alerts: Tocsin knows one threshold. */
function thresholdOf({ alerts }: Endpoint, alerting: Alerting): number {
  const enabled = (alerts ?? []).filter((one) => one.enabled !== false);
  const thresholds = enabled.map(
    ({ type, ...own }) =>
      own['failure-threshold'] ??
      alerting?.[type]?.['default-alert']?.['failure-threshold'] ??
      DEFAULT_FAILURE_THRESHOLD,
  );
  return thresholds.length === 0 ? 1 : Math.min(...thresholds, 100);
}

const UNITS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600 };

/** A duration of Go, such as `1m30s`, in seconds. */
function durationSeconds(duration: string, remarks: string[]): number | undefined {
  const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== duration.trim()) {
    remarks.push(`the duration ${duration} cannot be read`);
    return undefined;
  }
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit] ?? 0), 0);
}
