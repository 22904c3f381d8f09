import { expect, test } from '@jest/globals';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { createMonitorSchema, type Monitor, type MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { changedFields } from '../../components/form.ts';
import type { HeaderRow } from '../../components/header-rows.ts';
import { conditionText } from '../fields/condition-rows.ts';
import { monitorWith } from '../testing/records.ts';
import { channelChange, chosenChannels } from './channel-choices.ts';
import {
  findErrors,
  type MonitorFormValues,
  toBody,
  toCopy,
  toFormField,
  toTrialBody,
  toValues,
} from './form-values.ts';

const FIELDS: Omit<MonitorInput, 'type'> = {
  name: 'Shop',
  url: 'https://shop.example/health',
  interval: 30,
  timeout: 5,
  method: 'POST',
  headers: { Authorization: 'Bearer secret', 'X-Empty': '' },
  body: '{ "ping": 1 }',
  enabled: false,
  followRedirects: false,
  ipFamily: 6,
  connectTo: '[2001:db8::1]:8443',
  tls: { serverName: 'shop.example', verify: false },
  assertions: { statusCode: 201, bodyContains: ' ok ', bodyNotContains: 'error', maxLatency: 900 },
  failureThreshold: 3,
  retryInterval: 10,
  recoveryThreshold: 2,
  regions: ['eu', 'us'],
  runbookUrl: 'https://wiki.example/shop',
  externalId: 'shop',
  source: 'prod',
  labels: { app: 'shop', canary: '' },
};
const MONITOR: Monitor = { ...monitorWith(), ...FIELDS };

function rowsOf(...headers: [name: string, value: string][]): HeaderRow[] {
  return headers.map(([name, value], index) => ({ key: String(index), name, value }));
}

function bodyOf(change: Partial<MonitorFormValues>, stored: Monitor | null = MONITOR): object {
  return toBody({ ...toValues(stored), ...change }, stored);
}

test('the form produces a body that equals the monitor', () => {
  expect(bodyOf({})).toEqual(FIELDS);
});

test('the form keeps every assertion', () => {
  const assertions = {
    statusCodes: [204, '300-399'],
    headers: [
      { name: 'Content-Type', contains: '"json"' },
      { name: 'Server', exists: false },
    ],
    json: [
      { path: '$.status', equals: 'ok' },
      { path: '$.code', equals: '5' },
      { path: '$.load', lessThan: 5, greaterThan: -1.5 },
      { path: '$.list', equals: [1, { a: null }] },
      { path: '$.version', matches: '^2', exists: true },
      { path: '$.none', equals: null },
    ],
    bodyMatches: 'v\\d+',
  };
  const stored = { ...MONITOR, assertions };
  const values = toValues(stored);
  expect(toBody(values, stored)['assertions']).toEqual(assertions);
  expect(values.assertions.json.map(({ value }) => value)).toEqual([
    'ok',
    '"5"',
    '5',
    '[1,{"a":null}]',
    '^2',
    'null',
  ]);
});

test('conditions are described as sentences', () => {
  const condition = { path: '$.version', equals: '5', matches: '^\\d', exists: true };
  expect(conditionText(condition)).toBe('$.version equals "5" and matches /^\\d/ and exists');
});

test('the form starts a new monitor with the defaults of the API', () => {
  const body = bodyOf({ name: 'a', url: 'https://a.example' }, null);
  const byApi = createMonitorSchema.parse({ name: 'a', url: 'https://a.example' });
  expect({ type: 'HTTP', ...body }).toEqual(byApi);
});

test('the form clears emptied fields and ignores empty rows', () => {
  const { assertions } = toValues(null);
  const texts = { body: '', retryInterval: '', runbookUrl: ' ', externalId: '', source: '\t' };
  const headers = rowsOf([' ', '']);
  const body = bodyOf({ ...texts, headers, regions: [], assertions });
  expect(body).toMatchObject({ regions: [], headers: null, assertions: null });
  for (const field of Object.keys(texts)) expect(body).toHaveProperty(field, null);
});

test('the form keeps a body that the method does not send', () => {
  expect(bodyOf({ method: 'GET', body: 'typed before' })).toMatchObject({ body: MONITOR.body });
  expect(bodyOf({ method: 'GET', body: 'typed before' }, null)).toMatchObject({ body: null });
  expect(bodyOf({ method: 'PUT', body: 'typed' })).toMatchObject({ body: 'typed' });
});

test('a copy has the settings of the monitor without its identity', () => {
  const copy = toCopy({ ...MONITOR, name: 'n'.repeat(255) });
  expect(copy.name).toHaveLength(255);
  const others = { name: 'Copy of Shop', externalId: null, source: null };
  expect(toBody(toCopy(MONITOR), null)).toEqual({ ...FIELDS, ...others });
});

test('a trial check needs only the settings of the check', () => {
  const values = { ...toValues(null), url: 'https://a.example', externalId: 'taken' };
  const body = createMonitorSchema.parse(toTrialBody(values, null));
  expect(body).toMatchObject({ url: 'https://a.example', externalId: null });
});

test('changedFields has only changed fields, with whole objects and lists', () => {
  const values = toValues(MONITOR);
  const before = toBody(values, MONITOR);
  expect(changedFields(before, toBody(toValues(MONITOR), MONITOR))).toEqual({});
  const changed = {
    ...values,
    name: 'Shop 2',
    headers: values.headers.slice(0, 1),
    assertions: { ...values.assertions, statusCodes: [] },
  };
  const { statusCode: _, ...assertions } = FIELDS.assertions ?? {};
  const headers = { Authorization: 'Bearer secret' };
  const after = toBody(changed, MONITOR);
  expect(changedFields(before, after)).toEqual({ name: 'Shop 2', headers, assertions });
});

const RIGHT: MonitorFormValues = { ...toValues(null), name: 'Shop', url: 'https://shop.example' };

function pathsOf(change: Partial<MonitorFormValues>): string[] {
  return findErrors({ ...RIGHT, ...change }, null).map(({ path }) => path);
}

test.each<[string, Partial<MonitorFormValues>, string[]]>([
  ['a blank name', { name: ' ' }, ['name']],
  ['an invalid header name', { headers: rowsOf(['A', '1'], ['b c', '1']) }, ['headers.1.name']],
  ['an invalid row after an empty one', { headers: rowsOf(['', ''], ['A.B', '€']) }, ['headers.1.value']],
  ['a duplicate header in another case', { headers: rowsOf(['a', '1'], ['A', '2']) }, ['headers.1.name']],
  [
    'an incomplete condition',
    {
      assertions: {
        ...RIGHT.assertions,
        statusCodes: ['abc'],
        json: [{ key: 'a', subject: '', test: 'lessThan', value: 'x', others: {} }],
      },
    },
    ['assertions.statusCodes.0', 'assertions.json.0.subject', 'assertions.json.0.value'],
  ],
  ['two invalid fields', { name: '', timeout: 61 }, ['name', 'timeout']],
])('findErrors finds %s', (_, change, paths) => {
  expect(pathsOf(change)).toEqual(paths);
});

test('findErrors reports body assertions of HEAD together with other errors', () => {
  const assertions = { ...RIGHT.assertions, bodyContains: 'ok', bodyNotContains: 'error' };
  expect(pathsOf({ assertions, method: 'GET' })).toEqual([]);
  const paths = ['name', 'assertions.bodyContains', 'assertions.bodyNotContains'];
  expect(pathsOf({ assertions, method: 'HEAD', name: '' })).toEqual(paths);
});

test('findErrors names the invalid region', () => {
  const message: unknown = expect.stringMatching(/^US: must be a region code/);
  expect(findErrors({ ...RIGHT, regions: ['eu', 'US'] }, null)).toEqual([{ path: 'regions', message }]);
});

test.each([
  ['headers', 'headers', 'no'],
  ['headers.X-Key', 'headers.1.name', 'no'],
  ['headers.X-Gone', 'headers', 'X-Gone: no'],
  ['regions.0', 'regions', 'eu: no'],
  ['assertions.statusCode', 'assertions.statusCodes', 'no'],
  ['assertions.json', 'assertions.json', 'no'],
  ['assertions.json.1.path', 'assertions.json.1.subject', 'no'],
  ['assertions.headers.0.name', 'assertions.headers.0.subject', 'no'],
  ['assertions.json.1.lessThan', 'assertions.json.1.value', 'no'],
  ['regions.7', 'regions', 'no'],
])('toFormField shows an error of %s at %s', (path, control, message) => {
  const values = { ...RIGHT, headers: rowsOf(['', ''], ['X-Key', 'a']), regions: ['eu'] };
  expect(toFormField({ path, message: 'no' }, values)).toEqual({ path: control, message });
});

const channel = (fields: Partial<Channel>): Channel =>
  ({ id: 'a', monitorIds: [], allMonitors: false, selector: null, ...fields }) as Channel;

test.each([
  ['shop', {}, ['a']],
  ['shop', { b: true }, ['a', 'b']],
  ['shop', { a: false }, []],
  [null, { b: true }, ['b']],
])('chosenChannels of %s with %j', (monitorId, choices, ids) => {
  const channels = [
    channel({ id: 'a', monitorIds: ['shop', 'blog'] }),
    channel({ id: 'b', monitorIds: ['blog'] }),
  ];
  expect(chosenChannels(channels, monitorId, choices)).toEqual(ids);
});

test.each([
  [[], [], null],
  [['a', 'b'], ['b', 'a'], null],
  [['a'], ['b'], { add: ['b'], remove: ['a'] }],
])('channelChange from %j to %j', (before, chosen, change) => {
  expect(channelChange(before, chosen)).toEqual(change);
});
