import { z } from 'zod';
import { CliError } from '../terminal/cli-error.ts';
import { parseJson } from '../terminal/text.ts';
import {
  bodyFor,
  headersFrom,
  labelsFrom,
  seconds,
  skipped,
  unsupportedMethod,
  type Imported,
  type Translation,
} from './translation.ts';

const text = z.string().nullish();
const flag = z
  .union([z.boolean(), z.literal([0, 1])])
  .nullish()
  .transform((value) => (value === null || value === undefined ? null : Boolean(value)));

/** Supported fields of a monitor in a backup of Uptime Kuma 1.x (Settings, Backup, Export). */
const kumaMonitor = z.looseObject({
  id: z.number().nullish(),
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

/** Advice for a file that is not JSON. */
export const EXPORT_ADVICE =
  "is not a JSON backup of Uptime Kuma 1.x. Uptime Kuma 2 has none: write the monitors of its database with `sqlite3 -json kuma.db 'SELECT * FROM monitor' > monitors.json`, and import monitors.json.";

/** @param content parsed backup or rows of the database @throws CliError for other content */
export function fromUptimeKuma(content: unknown): Imported {
  const list = Array.isArray(content) ? content.map(fromRow) : backup.safeParse(content).data?.monitorList;
  if (!list)
    throw new CliError('The file is not a backup from Uptime Kuma, because it has no `monitorList`.');
  const translations = list.map((entry, index) => {
    const parsed = kumaMonitor.safeParse(entry);
    return parsed.success ? translate(parsed.data) : skipped(`monitor ${index + 1}`, 'it cannot be parsed');
  });
  return { translations, remarks: [] };
}

/** Columns with the same name in a backup. */
const SAME_NAMES: ReadonlySet<string> = new Set(['basic_auth_user', 'basic_auth_pass']);

/** Converts a row of the table `monitor` to the format of a backup. */
function fromRow(row: unknown): unknown {
  if (typeof row !== 'object' || row === null) return row;
  const fields = Object.entries(row).map(([column, value]: [string, unknown]) => {
    if (column === 'accepted_statuscodes_json') return ['accepted_statuscodes', parseJson(value)];
    const name = column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    return [SAME_NAMES.has(column) ? column : name, value];
  });
  return Object.fromEntries(fields);
}

function translate(kuma: KumaMonitor): Translation {
  const { name } = kuma;
  const unsupported = unsupportedReason(kuma);
  if (unsupported !== null) return skipped(name, unsupported);
  const remarks: string[] = [];
  const method = kuma.method ?? 'GET';
  const body = bodyFor(method, kuma.body || null);
  const own = headersOf(kuma, remarks);
  const headers = { ...(body !== null && contentType(kuma, own)), ...own };
  const fields = {
    name,
    url: kuma.url,
    method,
    interval: seconds(kuma.interval, 'interval', remarks),
    timeout: seconds(kuma.timeout, 'timeout', remarks),
    failureThreshold: Math.min((kuma.maxretries ?? 0) + 1, 100),
    retryInterval: isRetriedSooner(kuma) ? seconds(kuma.retryInterval, 'retryInterval', remarks) : null,
    headers: Object.keys(headers).length === 0 ? null : headers,
    body,
    assertions: assertionsOf(kuma, remarks),
    labels: labelsOf(kuma, remarks),
  };
  return {
    name,
    identity: kuma.id ?? [kuma.url, method],
    missing: missingOf(kuma),
    fields,
    remarks: [...remarks, ...lossesOf(kuma)],
  };
}

function unsupportedReason({ type, url, method, active, upsideDown }: KumaMonitor): string | null {
  if (type !== 'http' && type !== 'keyword') return `type ${type} is not supported, only HTTP`;
  if (active === false) return 'it is paused, and Tocsin has no paused monitors';
  if (upsideDown === true) return 'upside down mode is not supported';
  return url ? unsupportedMethod(method) : 'it has no URL';
}

function isRetriedSooner({ interval, maxretries, retryInterval }: KumaMonitor): boolean {
  return Boolean(maxretries && retryInterval) && (retryInterval ?? 0) < (interval ?? 60);
}

function headersOf(kuma: KumaMonitor, remarks: string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  if (kuma.headers) {
    const parsed = z.record(z.string(), z.unknown()).safeParse(parseJson(kuma.headers));
    if (parsed.success) Object.assign(headers, headersFrom(parsed.data, remarks));
    else remarks.push('not imported: headers, which are not a JSON object');
  }
  const missing = missingOf(kuma);
  if (missing.length > 0) {
    remarks.push(...missing.map((what) => `not imported: ${what}`));
  } else if (kuma.basic_auth_user) {
    const credentials = `${kuma.basic_auth_user}:${kuma.basic_auth_pass ?? ''}`;
    headers['Authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`;
  }
  return headers;
}

const AUTHENTICATION: Readonly<Record<string, string>> = {
  'oauth2-cc': 'OAuth 2 authentication',
  ntlm: 'NTLM authentication',
  mtls: 'client certificate',
};

/** Authentication that Tocsin does not support. */
function missingOf({ authMethod }: KumaMonitor): string[] {
  if (!authMethod || authMethod === 'basic') return [];
  return [AUTHENTICATION[authMethod] ?? `authentication with ${authMethod}`];
}

const kumaTag = z.looseObject({ name: z.string(), value: text });

/** Tags without a value become labels with the value `true`. */
function labelsOf({ tags }: KumaMonitor, remarks: string[]): Record<string, string> | undefined {
  const pairs = (tags ?? []).flatMap((tag): [string, string][] => {
    const { data } = kumaTag.safeParse(tag);
    return data === undefined ? [] : [[data.name, data.value || 'true']];
  });
  return labelsFrom(pairs, remarks);
}

/** Uptime Kuma sends this content type unless the monitor sets one. */
function contentType(
  { httpBodyEncoding }: KumaMonitor,
  headers: Readonly<Record<string, string>>,
): Record<string, string> {
  if (Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')) return {};
  const types: Readonly<Record<string, string>> = {
    xml: 'text/xml; charset=utf-8',
    form: 'application/x-www-form-urlencoded',
  };
  return { 'Content-Type': types[httpBodyEncoding ?? ''] ?? 'application/json' };
}

function assertionsOf(kuma: KumaMonitor, remarks: string[]): object | null {
  const assertions: Record<string, unknown> = {};
  if (kuma.type === 'keyword' && kuma.keyword) {
    assertions[kuma.invertKeyword === true ? 'bodyNotContains' : 'bodyContains'] = kuma.keyword;
  }
  const accepted = kuma.accepted_statuscodes ?? ['200-299'];
  const [first = ''] = accepted;
  if (accepted.length === 1 && /^\d{3}$/.test(first)) assertions['statusCode'] = Number(first);
  else if (first !== '200-299' || accepted.length > 1)
    remarks.push(`accepted status codes changed from ${accepted.join(', ')} to 200-399`);
  return Object.keys(assertions).length === 0 ? null : assertions;
}

/** Lists settings without an equivalent or with different behavior. */
function lossesOf(kuma: KumaMonitor): string[] {
  const { interval, maxretries, retryInterval } = kuma;
  const isRetriedLater = maxretries && retryInterval && interval && retryInterval > interval;
  const losses = [
    kuma.ignoreTls && 'TLS errors are no longer ignored',
    kuma.expiryNotification &&
      'not imported: certificate expiry notification; to get DOWN instead, add `assertions: { certificateMinDays: 14 }`',
    kuma.maxredirects === 0 && 'redirects are followed, unless `statusCode` is 3xx',
    isRetriedLater && `retry interval changed from ${retryInterval} s to ${interval} s`,
    kuma.proxyId && 'not imported: proxy',
    kuma.description && 'not imported: description',
    kuma.parent && 'not imported: group',
  ];
  return losses.flatMap((loss) => loss || []);
}
