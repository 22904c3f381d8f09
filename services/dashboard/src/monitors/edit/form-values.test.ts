import { describe, expect, test } from '@jest/globals';
import { createMonitorSchema, type Monitor, type MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { changesBetween, type MonitorFormValues, toBody, toValues } from './form-values.ts';

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
  regions: ['eu', 'us'],
  runbookUrl: 'https://wiki.example/shop',
  externalId: 'shop',
  source: 'prod',
};
const MONITOR: Monitor = {
  ...FIELDS,
  type: 'HTTP',
  id: '8f14e45f-ceea-467f-9b1c-0d5d3a9d6a10',
  status: 'UP',
  statusSince: '2026-03-01T12:00:00.000Z',
  lastCheckedAt: null,
  createdAt: '2026-03-01T12:00:00.000Z',
  updatedAt: '2026-03-01T12:00:00.000Z',
};

function bodyOf(change: Partial<MonitorFormValues>, stored: Monitor | null = MONITOR): object {
  return toBody({ ...toValues(stored), ...change }, stored);
}

describe('the form of a monitor', () => {
  test('holds every field: the body made of it is the monitor again', () => {
    expect(bodyOf({})).toEqual(FIELDS);
  });

  test('of a new one has the defaults of the API', () => {
    const body = bodyOf({ name: 'a', url: 'https://a.example' }, null);
    const byApi = createMonitorSchema.parse({ name: 'a', url: 'https://a.example' });
    expect({ type: 'HTTP', ...body }).toEqual(byApi);
  });

  test('what is emptied is cleared', () => {
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
      runbookUrl: ' ',
      externalId: '',
      source: '\t',
    };
    expect(bodyOf(emptied)).toMatchObject({
      headers: null,
      body: null,
      regions: [],
      assertions: null,
      runbookUrl: null,
      externalId: null,
      source: null,
    });
  });

  test('a row of headers that nobody filled in does not count', () => {
    const headers = [
      { key: '1', name: ' ', value: '' },
      { key: '2', name: ' Accept ', value: ' text/plain' },
    ];
    expect(bodyOf({ headers })).toMatchObject({ headers: { Accept: ' text/plain' } });
  });

  test('a body that the method does not send stays as it is stored', () => {
    expect(bodyOf({ method: 'GET', body: 'typed before' })).toMatchObject({ body: MONITOR.body });
    expect(bodyOf({ method: 'GET', body: 'typed before' }, null)).toMatchObject({ body: null });
    expect(bodyOf({ method: 'PUT', body: 'typed' })).toMatchObject({ body: 'typed' });
  });
});

describe('changesBetween', () => {
  const before = toBody(toValues(MONITOR), MONITOR);

  test('nothing, where nothing was changed', () => {
    expect(changesBetween(before, toBody(toValues(MONITOR), MONITOR))).toEqual({});
  });

  test('only what was changed; objects and lists as a whole', () => {
    const values = toValues(MONITOR);
    const changed = {
      ...values,
      name: 'Shop 2',
      regions: ['eu'],
      headers: values.headers.slice(0, 1),
      assertions: { ...values.assertions, statusCode: '' },
    };
    expect(changesBetween(before, toBody(changed, MONITOR))).toEqual({
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
