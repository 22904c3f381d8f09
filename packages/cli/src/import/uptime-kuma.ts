import type { Assertions, JsonCondition } from '@tocsin/contracts/monitors/assertions';
import { z } from 'zod';
import { CliError } from '../terminal/cli-error.ts';
import { parseJson } from '../terminal/text.ts';
import { toChannel } from './channels.ts';
import {
  compareNumber,
  equalsAny,
  equalsText,
  quoteExpression,
  toJsonPath,
  whereJson,
} from './json-condition.ts';
import {
  bodyFor,
  headersFrom,
  labelsFrom,
  seconds,
  skipped,
  unsupportedMethod,
  type Imported,
  type ImportedChannel,
  type Translation,
} from './translation.ts';
import { notificationsFrom, type Settings, toReceiver } from './uptime-kuma-alerts.ts';

const text = z.string().nullish();
const number = z.number().nullish();
const flag = z
  .union([z.boolean(), z.literal([0, 1])])
  .nullish()
  .transform((value) => (value === null || value === undefined ? null : Boolean(value)));

/** Supported fields of a monitor in a backup of Uptime Kuma 1.x (Settings, Backup, Export). */
const kumaMonitor = z.looseObject({
  id: number,
  name: z.string(),
  type: z.string(),
  url: text,
  method: text,
  active: flag,
  interval: number,
  timeout: number,
  maxretries: number,
  retryInterval: number,
  keyword: text,
  invertKeyword: flag,
  jsonPath: text,
  jsonPathOperator: text,
  expectedValue: text,
  upsideDown: flag,
  ignoreTls: flag,
  expiryNotification: flag,
  maxredirects: number,
  accepted_statuscodes: z.array(z.string()).nullish(),
  headers: text,
  body: text,
  httpBodyEncoding: text,
  description: text,
  parent: number,
  tags: z.array(z.unknown()).nullish(),
  basic_auth_user: text,
  basic_auth_pass: text,
  authMethod: text,
  bearer_token: text,
  tlsCert: text,
  tlsKey: text,
  tlsCa: text,
  ipFamily: text,
  proxyId: number,
  cacheBust: flag,
  retryOnlyOnStatusCodeFailure: flag,
  domainExpiryNotification: flag,
  resendInterval: number,
  notificationIDList: z.union([z.record(z.string(), z.unknown()), z.array(z.number())]).nullish(),
  notifications: z.record(z.string(), z.unknown()).nullish(),
});
type KumaMonitor = z.infer<typeof kumaMonitor>;

const backup = z.looseObject({
  monitorList: z.array(z.unknown()),
  notificationList: z.array(z.unknown()).nullish(),
});

/** Advice for a file that is not JSON. */
export const EXPORT_ADVICE =
  'is not a JSON backup of Uptime Kuma 1.x. Uptime Kuma 2 has none: export its database with the command in docs/monitors-as-code.md.';

/** Records that monitors refer to by ID. */
interface Context {
  readonly notifications: ReadonlyMap<string, Settings>;
  readonly names: ReadonlyMap<number, string>;
}

/** @param content parsed backup, rows of the database or monitors of the API @throws CliError for other content */
export function fromUptimeKuma(content: unknown): Imported {
  const { data } = backup.safeParse(Array.isArray(content) ? { monitorList: content.map(fromRow) } : content);
  if (!data)
    throw new CliError('The file is not a backup from Uptime Kuma, because it has no `monitorList`.');
  const list = data.monitorList.map((entry) => kumaMonitor.safeParse(entry).data);
  const context = {
    notifications: notificationsFrom(data.notificationList ?? []),
    names: new Map(list.flatMap((kuma) => (typeof kuma?.id === 'number' ? [[kuma.id, kuma.name]] : []))),
  };
  const translations = list.map((kuma, index) =>
    kuma ? translate(kuma, context) : skipped(`monitor ${index + 1}`, 'it cannot be parsed'),
  );
  return { translations, remarks: [] };
}

/** Columns with the same name in a backup. */
const SAME_NAMES: ReadonlySet<string> = new Set([
  'accepted_statuscodes',
  'basic_auth_user',
  'basic_auth_pass',
  'bearer_token',
]);

/** Converts a row of the table `monitor` to the format of a backup. */
function fromRow(row: unknown): unknown {
  if (typeof row !== 'object' || row === null) return row;
  const fields = Object.entries(row).map(([column, value]: [string, unknown]) => {
    if (column === 'accepted_statuscodes_json') return ['accepted_statuscodes', parseJson(value)];
    const name = column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    const isJson = typeof value === 'string' && (column === 'tags' || column === 'notifications');
    return [SAME_NAMES.has(column) ? column : name, isJson ? parseJson(value) : value];
  });
  return Object.fromEntries(fields);
}

function translate(kuma: KumaMonitor, context: Context): Translation {
  const { name } = kuma;
  const method = (kuma.method ?? 'GET').toUpperCase();
  const unsupported = unsupportedReason(kuma) ?? unsupportedMethod(method);
  if (unsupported !== null) return skipped(name, unsupported);
  const remarks: string[] = [];
  const body = bodyFor(method, kuma.body || null);
  const own = headersOf(kuma, remarks);
  const headers = { ...(body !== null && contentType(kuma, own)), ...own };
  const fields = {
    name,
    url: kuma.url,
    enabled: kuma.active !== false,
    method,
    interval: seconds(kuma.interval, 'interval', remarks),
    timeout: seconds(kuma.timeout, 'timeout', remarks),
    failureThreshold: Math.min((kuma.maxretries ?? 0) + 1, 100),
    retryInterval: isRetriedSooner(kuma) ? seconds(kuma.retryInterval, 'retryInterval', remarks) : null,
    headers: Object.keys(headers).length === 0 ? null : headers,
    body,
    followRedirects: kuma.maxredirects !== 0,
    ipFamily: { ipv4: 4, ipv6: 6 }[kuma.ipFamily ?? ''] ?? null,
    tls: tlsOf(kuma),
    assertions: assertionsOf(kuma, remarks),
    labels: labelsOf(kuma, context, remarks),
  };
  return {
    name,
    identity: kuma.id ?? [kuma.url, method],
    missing: missingOf(kuma),
    fields,
    channels: channelsOf(kuma, context, remarks),
    remarks: [...remarks, ...lossesOf(kuma)],
  };
}

function unsupportedReason({ type, url, upsideDown }: KumaMonitor): string | null {
  if (!['http', 'keyword', 'json-query'].includes(type)) return `type ${type} is not supported, only HTTP`;
  if (upsideDown === true) return 'upside down mode is not supported';
  return url ? null : 'it has no URL';
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
  } else if (kuma.authMethod === 'bearer') {
    headers['Authorization'] ??= `Bearer ${kuma.bearer_token ?? ''}`;
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
function missingOf({ authMethod, tlsCert, tlsKey }: KumaMonitor): string[] {
  if (!authMethod || ['basic', 'bearer'].includes(authMethod)) return [];
  if (authMethod === 'mtls' && tlsCert && tlsKey) return [];
  return [AUTHENTICATION[authMethod] ?? `authentication with ${authMethod}`];
}

function tlsOf({ authMethod, tlsCert, tlsKey, tlsCa, ignoreTls }: KumaMonitor): object | null {
  const tls = {
    ...(authMethod === 'mtls' && tlsCert && tlsKey && { certificate: tlsCert, key: tlsKey }),
    ...(authMethod === 'mtls' && tlsCa && { ca: tlsCa }),
    ...(ignoreTls === true && { verify: false }),
  };
  return Object.keys(tls).length === 0 ? null : tls;
}

function channelsOf(kuma: KumaMonitor, context: Context, remarks: string[]): ImportedChannel[] {
  const { notificationIDList: listed, notifications: own, interval, resendInterval } = kuma;
  const configs = Object.entries(own ?? {}).map(([id, config]) => ({ id: Number(id), config }));
  const known = new Map([...context.notifications, ...notificationsFrom(configs)]);
  const ids = Array.isArray(listed)
    ? listed.map(String)
    : Object.entries(listed ?? {}).flatMap(([id, isOn]) => (isOn ? id : []));
  return [...ids, ...Object.keys(own ?? {})].flatMap((id) => {
    const settings = known.get(id);
    const receiver = settings ? toReceiver(settings, remarks) : 'the file does not have its settings';
    const name = settings?.name ?? `notification ${id}`;
    return toChannel(name, receiver, (resendInterval ?? 0) * (interval ?? 60), remarks);
  });
}

const kumaTag = z.looseObject({ name: z.string(), value: text });

/** Tags without a value become labels with the value `true`. The group becomes a label too. */
function labelsOf(
  { tags, parent }: KumaMonitor,
  { names }: Context,
  remarks: string[],
): Record<string, string> | undefined {
  const group = names.get(parent ?? 0);
  if (parent && group === undefined) remarks.push('not imported: group');
  const pairs = (tags ?? []).flatMap((tag): [string, string][] => {
    const { data } = kumaTag.safeParse(tag);
    return data === undefined ? [] : [[data.name, data.value || 'true']];
  });
  return labelsFrom(group === undefined ? pairs : [['group', group], ...pairs], remarks);
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

function assertionsOf(kuma: KumaMonitor, remarks: string[]): Assertions | null {
  const accepted = kuma.accepted_statuscodes ?? [DEFAULT_CODES];
  const codes = accepted.map((code) => (/^\d+$/.test(code) ? Number(code) : code));
  const [first] = codes;
  // After redirects were followed, the response is rarely a 3xx, so the default of 200 to 399 accepts almost the same.
  const isDefault = codes.length === 1 && first === DEFAULT_CODES && kuma.maxredirects !== 0;
  const isOne = codes.length === 1 && typeof first === 'number';
  const assertions: Assertions = {
    ...(isOne ? { statusCode: first } : !isDefault && { statusCodes: codes }),
    ...(kuma.type === 'keyword' && kuma.keyword && keywordAssertion(kuma, kuma.keyword, remarks)),
    ...(kuma.type === 'json-query' && jsonQueryAssertion(kuma, remarks)),
  };
  return Object.keys(assertions).length === 0 ? null : assertions;
}

const DEFAULT_CODES = '200-299';

/** Uptime Kuma searches JSON without the spaces between its parts. */
function keywordAssertion({ invertKeyword }: KumaMonitor, keyword: string, remarks: string[]): Assertions {
  const isPartOfJson = /":\S|",\S|[[{]"/.test(keyword);
  if (!isPartOfJson) return { [invertKeyword === true ? 'bodyNotContains' : 'bodyContains']: keyword };
  if (invertKeyword !== true)
    return { bodyMatches: quoteExpression(keyword).replaceAll(/:|,|\\[{}[\]]/g, String.raw`\s*$&\s*`) };
  remarks.push('the keyword must have the same spaces as the JSON body');
  return { bodyNotContains: keyword };
}

/** Plain paths of JSONata. */
const PLAIN_PATH = /^(?:\$(?=$|[.[]))?(?:\.?(?:[A-Za-z_]\w*|`[^`.[\]]+`)|\[-?\d+\])*$/;

function jsonQueryAssertion(kuma: KumaMonitor, remarks: string[]): Assertions {
  const [query, operator] = [kuma.jsonPath || '$', kuma.jsonPathOperator ?? '=='];
  const expected = kuma.expectedValue ?? '';
  const path = PLAIN_PATH.test(query) ? toJsonPath(query.replaceAll(/^\$|`/g, '')) : null;
  // `$` selects the whole body, which may be plain text.
  if (path === '$' && operator === 'contains') return { bodyContains: expected };
  if (path === '$' && operator === '==')
    return { bodyMatches: String.raw`^\s*"?${quoteExpression(expected)}"?\s*$` };
  const isUnknown = path === null || (path === '$' && operator === '!=');
  const condition = isUnknown ? null : jsonCondition(path, operator, expected, remarks);
  if (condition !== null) return { json: [condition] };
  remarks.push(`not imported: JSON query ${query} ${operator} ${expected}`);
  return {};
}

function jsonCondition(
  path: string,
  operator: string,
  expected: string,
  remarks: string[],
): JsonCondition | null {
  if (operator === '==') return equalsText(path, expected);
  if (operator === 'contains') return { path, contains: expected };
  // In Uptime Kuma, a query that selects no value fails.
  if (operator === '!=') return whereJson(`${path} != null && ${path} && !(${equalsAny(path, [expected])})`);
  const isNumber = expected.trim() !== '' && Number.isFinite(Number(expected));
  return isNumber && /^[<>]=?$/.test(operator)
    ? compareNumber(path, operator, Number(expected), remarks)
    : null;
}

/** Lists settings without an equivalent or with different behavior. */
function lossesOf(kuma: KumaMonitor): string[] {
  const { interval, maxretries, retryInterval } = kuma;
  const isRetriedLater = maxretries && retryInterval && interval && retryInterval > interval;
  const losses = [
    kuma.expiryNotification &&
      'not imported: certificate expiry notification; to get DOWN instead, add `assertions: { certificateMinDays: 14 }`',
    kuma.domainExpiryNotification && 'not imported: domain expiry notification',
    isRetriedLater && `retry interval changed from ${retryInterval} s to ${interval} s`,
    kuma.retryOnlyOnStatusCodeFailure && 'failures of the JSON query are retried too',
    kuma.cacheBust && 'not imported: cache buster',
    kuma.proxyId && 'not imported: proxy',
    kuma.description && 'not imported: description',
  ];
  return losses.flatMap((loss) => loss || []);
}
