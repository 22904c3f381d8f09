import { describe, expect, test } from '@jest/globals';
import { createMonitorSchema, type Monitor, type MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { changedFields } from '../../components/form.ts';
import {
  toFormField,
  findErrors,
  type HeaderRow,
  type MonitorFormValues,
  retryNote,
  toBody,
  toCopy,
  toTestBody,
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
  assertions: {
    statusCode: 201,
    bodyContains: ' ok ',
    bodyNotContains: 'error',
    maxLatency: 900,
    certificateMinDays: 14,
  },
  failureThreshold: 3,
  retryInterval: 10,
  recoveryThreshold: 2,
  regions: ['eu', 'us'],
  runbookUrl: 'https://wiki.example/shop',
  externalId: 'shop',
  source: 'prod',
  labels: { app: 'shop', canary: '' },
};
const MONITOR: Monitor = {
  ...FIELDS,
  type: 'HTTP',
  id: '8f14e45f-ceea-467f-9b1c-0d5d3a9d6a10',
  status: 'UP',
  statusSince: '2026-03-01T12:00:00.000Z',
  errorDetail: null,
  lastCheckedAt: null,
  createdAt: '2026-03-01T12:00:00.000Z',
  updatedAt: '2026-03-01T12:00:00.000Z',
};

function bodyOf(change: Partial<MonitorFormValues>, stored: Monitor | null = MONITOR): object {
  return toBody({ ...toValues(stored), ...change }, stored);
}

describe('the form of a monitor', () => {
  test('produces a body that equals the monitor', () => {
    expect(bodyOf({})).toEqual(FIELDS);
  });

  test('starts a new monitor with the defaults of the API', () => {
    const body = bodyOf({ name: 'a', url: 'https://a.example' }, null);
    const byApi = createMonitorSchema.parse({ name: 'a', url: 'https://a.example' });
    expect({ type: 'HTTP', ...body }).toEqual(byApi);
  });

  test('clears a field that is emptied', () => {
    const emptied = {
      headers: [],
      body: '',
      regions: [],
      assertions: {
        statusCode: '',
        maxLatency: '',
        certificateMinDays: '',
        bodyContains: '',
        bodyNotContains: '',
      },
      retryInterval: '',
      runbookUrl: ' ',
      externalId: '',
      source: '\t',
    };
    expect(bodyOf(emptied)).toMatchObject({
      headers: null,
      body: null,
      regions: [],
      assertions: null,
      retryInterval: null,
      runbookUrl: null,
      externalId: null,
      source: null,
    });
  });

  test('ignores an empty header row', () => {
    const headers = [
      { key: '1', name: ' ', value: '' },
      { key: '2', name: ' Accept ', value: ' text/plain' },
    ];
    expect(bodyOf({ headers })).toMatchObject({ headers: { Accept: ' text/plain' } });
  });

  test('keeps a body that the method does not send', () => {
    expect(bodyOf({ method: 'GET', body: 'typed before' })).toMatchObject({ body: MONITOR.body });
    expect(bodyOf({ method: 'GET', body: 'typed before' }, null)).toMatchObject({ body: null });
    expect(bodyOf({ method: 'PUT', body: 'typed' })).toMatchObject({ body: 'typed' });
  });
});

test('a copy has the settings of the monitor, without what identifies it', () => {
  const copy = toCopy({ ...MONITOR, name: 'n'.repeat(255) });
  expect(copy.name).toHaveLength(255);
  expect(toBody(toCopy(MONITOR), null)).toEqual({
    ...FIELDS,
    name: 'Copy of Shop',
    externalId: null,
    source: null,
  });
});

test('a test needs only the settings of the check', () => {
  const values = { ...toValues(null), url: 'https://a.example', externalId: 'taken' };
  expect(createMonitorSchema.parse(toTestBody(values, null))).toMatchObject({
    url: 'https://a.example',
    externalId: null,
  });
});

test.each([
  [{ interval: 60, failureThreshold: 3, retryInterval: 10 }, null],
  [{ interval: 60, failureThreshold: 1, retryInterval: '' }, null],
  [{ interval: 60, failureThreshold: 1, retryInterval: 10 }, /first failure counts/],
  [{ interval: 60, failureThreshold: 3, retryInterval: 60 }, /not shorter than the interval/],
  [{ interval: '', failureThreshold: 3, retryInterval: 60 }, null],
])('retryNote says when a retry interval has no effect: %j', (values, note) => {
  expect(retryNote(values) ?? '').toMatch(note ?? /^$/);
});

describe('changedFields', () => {
  const before = toBody(toValues(MONITOR), MONITOR);

  test('is empty if nothing has changed', () => {
    expect(changedFields(before, toBody(toValues(MONITOR), MONITOR))).toEqual({});
  });

  test('has only changed fields, with whole objects and lists', () => {
    const values = toValues(MONITOR);
    const changed = {
      ...values,
      name: 'Shop 2',
      regions: ['eu'],
      headers: values.headers.slice(0, 1),
      assertions: { ...values.assertions, statusCode: '' },
    };
    expect(changedFields(before, toBody(changed, MONITOR))).toEqual({
      name: 'Shop 2',
      regions: ['eu'],
      headers: { Authorization: 'Bearer secret' },
      assertions: {
        maxLatency: 900,
        certificateMinDays: 14,
        bodyContains: ' ok ',
        bodyNotContains: 'error',
      },
    });
  });
});

const RIGHT: MonitorFormValues = { ...toValues(null), name: 'Shop', url: 'https://shop.example' };

function rowsOf(...headers: [name: string, value: string][]): HeaderRow[] {
  return headers.map(([name, value], index) => ({ key: String(index), name, value }));
}

function pathsOf(change: Partial<MonitorFormValues>): string[] {
  return findErrors({ ...RIGHT, ...change }, null).map(({ path }) => path);
}

function withAssertions(change: Partial<MonitorFormValues['assertions']>): Partial<MonitorFormValues> {
  return { assertions: { ...RIGHT.assertions, ...change } };
}

describe('findErrors', () => {
  test('finds none in valid values', () => {
    expect(findErrors(RIGHT, null)).toEqual([]);
  });

  test.each<[string, Partial<MonitorFormValues>, string[]]>([
    ['a blank name', { name: ' ' }, ['name']],
    ['no URL', { url: '' }, ['url']],
    ['an interval that is too short', { interval: 4 }, ['interval']],
    ['no interval', { interval: '' }, ['interval']],
    ['a timeout that is not a number', { timeout: '-' }, ['timeout']],
    ['an invalid status code', withAssertions({ statusCode: 99 }), ['assertions.statusCode']],
    ['a body that is too long', { method: 'POST', body: 'a'.repeat(65_537) }, ['body']],
    ['an invalid region code', { regions: ['eu', 'US'] }, ['regions']],
    ['an invalid runbook URL', { runbookUrl: 'wiki' }, ['runbookUrl']],
    ['an invalid header name', { headers: rowsOf(['A', '1'], ['b c', '1']) }, ['headers.1.name']],
    ['a header without a name', { headers: rowsOf(['', 'secret']) }, ['headers.0.name']],
    ['a connection header', { headers: rowsOf(['Upgrade', 'x']) }, ['headers.0.name']],
    ['an invalid header value', { headers: rowsOf(['A', '€']) }, ['headers.0.value']],
    ['an invalid row after an empty one', { headers: rowsOf(['', ''], ['A.B', '€']) }, ['headers.1.value']],
    ['a duplicate header', { headers: rowsOf(['A', '1'], ['A', '2']) }, ['headers.1.name']],
    ['a duplicate header in another case', { headers: rowsOf(['a', '1'], ['A', '2']) }, ['headers.1.name']],
    ['two invalid fields', { name: '', timeout: 61 }, ['name', 'timeout']],
  ])('finds %s', (_, change, paths) => {
    expect(pathsOf(change)).toEqual(paths);
  });

  test('reports body assertions of HEAD together with other errors', () => {
    const inBody = withAssertions({ bodyContains: 'ok', bodyNotContains: 'error' });
    expect(pathsOf({ ...inBody, method: 'GET' })).toEqual([]);
    expect(pathsOf({ ...inBody, method: 'HEAD', name: '' })).toEqual([
      'name',
      'assertions.bodyContains',
      'assertions.bodyNotContains',
    ]);
  });

  test('names the invalid region', () => {
    const [problem] = findErrors({ ...RIGHT, regions: ['eu', 'US'] }, null);
    expect(problem?.message).toMatch(/^US: must be a region code/);
  });
});

describe('toFormField', () => {
  const values = { ...RIGHT, headers: rowsOf(['', ''], ['X-Key', 'a']), regions: ['eu'] };
  test.each([
    ['url', 'url', 'no'],
    ['assertions.maxLatency', 'assertions.maxLatency', 'no'],
    ['headers', 'headers', 'no'],
    ['headers.X-Key', 'headers.1.name', 'no'],
    ['headers.X-Gone', 'headers', 'X-Gone: no'],
    ['regions', 'regions', 'no'],
    ['regions.0', 'regions', 'eu: no'],
    ['regions.7', 'regions', 'no'],
  ])('shows an error of %s at %s', (path, control, message) => {
    expect(toFormField({ path, message: 'no' }, values)).toEqual({ path: control, message });
  });
});
