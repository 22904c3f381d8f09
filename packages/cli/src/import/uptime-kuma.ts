import { HTTP_METHODS } from '@tocsin/contracts/vocabulary';
import { z } from 'zod';
import { CliError } from '../terminal/cli-error.ts';
import { headerValues, seconds, type Translation } from './translation.ts';

const text = z.string().nullish();
const flag = z.union([z.boolean(), z.literal([0, 1])]).nullish();

/** A monitor of the backup of Uptime Kuma 1.x (Settings, Backup, Export), as far as it says something to Tocsin. */
const kumaMonitor = z.looseObject({
  name: z.string(),
  type: z.string(),
  url: text,
  method: text,
  active: flag,
  interval: z.number().nullish(),
  timeout: z.number().nullish(),
  maxretries: z.number().nullish(),
  retryInterval: z.number().nullish(),
  keyword: text,
  invertKeyword: flag,
  upsideDown: flag,
  ignoreTls: flag,
  expiryNotification: flag,
  maxredirects: z.number().nullish(),
  accepted_statuscodes: z.array(z.string()).nullish(),
  headers: text,
  body: text,
  httpBodyEncoding: text,
  description: text,
  parent: z.number().nullish(),
  tags: z.array(z.unknown()).nullish(),
  basic_auth_user: text,
  basic_auth_pass: text,
  authMethod: text,
  proxyId: z.number().nullish(),
});
type KumaMonitor = z.infer<typeof kumaMonitor>;

const backup = z.looseObject({ monitorList: z.array(z.unknown()) });

/** @param content the parsed backup. @throws CliError where it is none */
export function fromUptimeKuma(content: unknown): Translation[] {
  const parsed = backup.safeParse(content);
  if (!parsed.success) {
    throw new CliError('This is no backup of Uptime Kuma: it has no `monitorList`.');
  }
  return parsed.data.monitorList.map((entry, index) => {
    const monitor = kumaMonitor.safeParse(entry);
    if (monitor.success) return translate(monitor.data);
    return { name: `monitor ${index + 1}`, fields: null, remarks: ['left out: it cannot be read'] };
  });
}

function translate(kuma: KumaMonitor): Translation {
  const { name } = kuma;
  const obstacle = obstacleOf(kuma);
  if (obstacle !== null) return { name, fields: null, remarks: [`left out: ${obstacle}`] };
  const remarks: string[] = [];
  const method = kuma.method ?? 'GET';
  const body = ['POST', 'PUT', 'PATCH'].includes(method) ? kuma.body || null : null;
  const own = headersOf(kuma, remarks);
  const headers = { ...contentType(kuma, own, body), ...own };
  const fields = {
    name,
    url: kuma.url,
    method,
    interval: seconds(kuma.interval, 'interval', remarks),
    timeout: seconds(kuma.timeout, 'timeout', remarks),
    failureThreshold: Math.min((kuma.maxretries ?? 0) + 1, 100),
    headers: Object.keys(headers).length === 0 ? null : headers,
    body,
    assertions: assertionsOf(kuma, remarks),
  };
  remarks.push(...losses(kuma));
  return { name, fields, remarks };
}

/** Why Tocsin cannot check it, or null. */
function obstacleOf({ type, url, method, active, upsideDown }: KumaMonitor): string | null {
  if (type !== 'http' && type !== 'keyword') return `type ${type}: Tocsin checks HTTP`;
  if (active === false || active === 0) return 'it is paused; Tocsin has no paused monitors';
  if (isSet(upsideDown)) return 'it is upside down: Tocsin has no such check';
  if (!url) return 'it has no URL';
  const known: readonly string[] = HTTP_METHODS;
  return known.includes(method ?? 'GET') ? null : `method ${method} is not one of ${known.join(', ')}`;
}

function headersOf(kuma: KumaMonitor, remarks: string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  if (kuma.headers) {
    const parsed = headerValues.safeParse(tryParse(kuma.headers));
    if (parsed.success) Object.assign(headers, parsed.data);
    else remarks.push('its headers are not an object of JSON with texts: add them by hand');
  }
  if (kuma.authMethod && kuma.authMethod !== 'basic') {
    remarks.push(`signing in by ${kuma.authMethod} is not taken over`);
  } else if (kuma.basic_auth_user) {
    const credentials = `${kuma.basic_auth_user}:${kuma.basic_auth_pass ?? ''}`;
    headers['Authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`;
  }
  return headers;
}

/** Kuma says of what kind the body is, unless the monitor's own headers do. */
function contentType(
  { httpBodyEncoding }: KumaMonitor,
  headers: Readonly<Record<string, string>>,
  body: string | null,
): Record<string, string> {
  const isSaid = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  if (body === null || isSaid) return {};
  const types: Readonly<Record<string, string>> = {
    xml: 'text/xml; charset=utf-8',
    form: 'application/x-www-form-urlencoded',
  };
  return { 'Content-Type': types[httpBodyEncoding ?? ''] ?? 'application/json' };
}

function assertionsOf(kuma: KumaMonitor, remarks: string[]): object | null {
  const assertions: Record<string, unknown> = {};
  if (kuma.type === 'keyword' && kuma.keyword) {
    assertions[isSet(kuma.invertKeyword) ? 'bodyNotContains' : 'bodyContains'] = kuma.keyword;
  }
  const accepted = kuma.accepted_statuscodes ?? ['200-299'];
  const [only = ''] = accepted;
  if (accepted.length === 1 && /^\d{3}$/.test(only)) assertions['statusCode'] = Number(only);
  else if (only !== '200-299' || accepted.length > 1)
    remarks.push(`accepted statuses ${accepted.join(', ')} became Tocsin's own, 200 to 399`);
  return Object.keys(assertions).length === 0 ? null : assertions;
}

function isSet(value: boolean | 0 | 1 | null | undefined): boolean {
  return value === true || value === 1;
}

/** What Tocsin has no field for. */
function losses(kuma: KumaMonitor): string[] {
  const differs =
    kuma.maxretries && kuma.retryInterval && kuma.interval && kuma.retryInterval !== kuma.interval;
  return [
    ...(isSet(kuma.ignoreTls) ? ['errors of TLS are no longer ignored: Tocsin verifies certificates'] : []),
    ...(isSet(kuma.expiryNotification)
      ? ['expiry of its certificate: add `assertions: { certificateMinDays: 14 }` if it shall be DOWN then']
      : []),
    ...(kuma.maxredirects === 0 ? ['redirects are followed, unless `statusCode` is a 3xx'] : []),
    ...(differs ? [`retries come after ${kuma.interval} s, not ${kuma.retryInterval} s`] : []),
    ...(kuma.proxyId ? ['its proxy is not taken over'] : []),
    ...(kuma.description ? ['its description is not taken over'] : []),
    ...(kuma.parent ? ['its group is not taken over'] : []),
    ...(kuma.tags && kuma.tags.length > 0 ? ['its tags are not taken over'] : []),
  ];
}

function tryParse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
