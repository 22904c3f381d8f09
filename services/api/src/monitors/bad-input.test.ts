import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createMonitorSchema, type Monitor } from '@tocsin/contracts/monitors/monitor';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let monitor: Monitor;
beforeAll(async () => {
  api = await openTestApi();
  monitor = await newMonitor(api);
});
afterAll(() => api.close());

const URL_RULE = /full URL|must be a string/;
const headersOf = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, 'a']));

/** Field, an invalid value, the path of the error, and a pattern of its message. */
const BAD: readonly (readonly [string, unknown, string, RegExp])[] = [
  ['name', '', 'name', /1 to 255/],
  ['name', ' \t\n', 'name', /must not be blank/],
  ['name', 'a'.repeat(256), 'name', /at most 255/],
  ['name', null, 'name', /must be a string/],
  ['name', 5, 'name', /must be a string/],
  ['name', {}, 'name', /must be a string/],
  ['name', 'a\0b', 'name', /NUL/],
  ['name', 'a\ud800b', 'name', /lone surrogate/],
  ['url', '', 'url', /full URL/],
  ['url', '   ', 'url', /must not be blank/],
  ['url', null, 'url', URL_RULE],
  ['url', ['http://a.example'], 'url', URL_RULE],
  ['url', 'shop.example', 'url', URL_RULE],
  ['url', '//shop.example', 'url', URL_RULE],
  ['url', 'ftp://shop.example', 'url', URL_RULE],
  ['url', 'http://', 'url', URL_RULE],
  ['url', 'javascript:alert(1)', 'url', URL_RULE],
  ['url', 'http://user:password@shop.example', 'url', /user name or password/],
  ['url', 'http://shop.example/a b', 'url', /white space/],
  ['url', 'http://shop.example/\0', 'url', /NUL/],
  ['url', 'http://shop.example:99999', 'url', URL_RULE],
  ['url', `http://shop.example/${'a'.repeat(2048)}`, 'url', /at most 2048/],
  ['type', 'TCP', 'type', /one of HTTP/],
  ['type', 'http', 'type', /one of HTTP/],
  ['type', null, 'type', /one of HTTP/],
  ['interval', 4, 'interval', /5 to 86400/],
  ['interval', 86_401, 'interval', /5 to 86400/],
  ['interval', 60.5, 'interval', /integer/],
  ['interval', '60', 'interval', /integer from 5 to 86400 \(seconds\)/],
  ['interval', null, 'interval', /integer/],
  ['interval', 1e300, 'interval', /5 to 86400/],
  ['timeout', 0, 'timeout', /1 to 60/],
  ['timeout', 61, 'timeout', /1 to 60/],
  ['timeout', -1, 'timeout', /1 to 60/],
  ['timeout', true, 'timeout', /integer/],
  ['timeout', null, 'timeout', /integer/],
  ['method', 'DELETE', 'method', /GET, POST, PUT, PATCH, HEAD/],
  ['method', 'get', 'method', /GET, POST, PUT, PATCH, HEAD/],
  ['method', null, 'method', /GET, POST, PUT, PATCH, HEAD/],
  ['headers', [], 'headers', /object of header names/],
  ['headers', 'X-A: b', 'headers', /object of header names/],
  ['headers', headersOf(51), 'headers', /at most 50/],
  ['headers', { 'X-A': 5 }, 'headers.X-A', /must be a string/],
  ['headers', { 'X-A': null }, 'headers.X-A', /must be a string/],
  ['headers', { 'X-A': 'a\r\nb' }, 'headers.X-A', /visible/],
  ['headers', { 'X-A': 'a\0b' }, 'headers.X-A', /visible/],
  ['headers', { 'X-A': '⏰' }, 'headers.X-A', /Latin-1/],
  ['headers', { 'X-A': 'a'.repeat(8193) }, 'headers.X-A', /at most 8192/],
  ['headers', { 'X A': 'b' }, 'headers.X A', /valid header name/],
  ['headers', { '': 'b' }, 'headers.', /valid header name/],
  ['headers', { 'X-A': 'b', 'x-a': 'c' }, 'headers.x-a', /twice/],
  ['headers', { Connection: 'close' }, 'headers.Connection', /connection itself/],
  ['headers', { 'Transfer-Encoding': 'chunked' }, 'headers.Transfer-Encoding', /connection itself/],
  ['headers', { 'content-length': '3' }, 'headers.content-length', /connection itself/],
  ['body', 5, 'body', /must be a string/],
  ['body', { a: 1 }, 'body', /must be a string/],
  ['body', 'a\0', 'body', /NUL/],
  ['body', 'ä'.repeat(32_769), 'body', /at most 65536 bytes/],
  ['assertions', 'statusCode', 'assertions', /object/],
  ['assertions', [], 'assertions', /object/],
  ['assertions', { statusCode: 99 }, 'assertions.statusCode', /100 to 599/],
  ['assertions', { statusCode: 600 }, 'assertions.statusCode', /100 to 599/],
  ['assertions', { statusCode: '200' }, 'assertions.statusCode', /integer/],
  ['assertions', { statusCode: null }, 'assertions.statusCode', /integer/],
  ['assertions', { bodyContains: '' }, 'assertions.bodyContains', /must not be empty/],
  ['assertions', { bodyContains: 5 }, 'assertions.bodyContains', /must be a string/],
  ['assertions', { bodyContains: '\0' }, 'assertions.bodyContains', /NUL/],
  ['assertions', { bodyNotContains: 'a'.repeat(10_001) }, 'assertions.bodyNotContains', /at most 10000/],
  ['assertions', { maxLatency: 0 }, 'assertions.maxLatency', /1 to 60000 \(milliseconds\)/],
  ['assertions', { certificateMinDays: 3651 }, 'assertions.certificateMinDays', /1 to 3650 \(days\)/],
  [
    'assertions',
    { status_code: 200 },
    'assertions.status_code',
    /did you mean `statusCode`.*known fields: statusCode, /,
  ],
  ['failureThreshold', 0, 'failureThreshold', /1 to 100/],
  ['failureThreshold', 101, 'failureThreshold', /1 to 100/],
  ['failureThreshold', null, 'failureThreshold', /integer/],
  ['retryInterval', 4, 'retryInterval', /5 to 3600/],
  ['retryInterval', 3_601, 'retryInterval', /5 to 3600/],
  ['retryInterval', '10', 'retryInterval', /integer/],
  ['recoveryThreshold', 0, 'recoveryThreshold', /1 to 100/],
  ['recoveryThreshold', 101, 'recoveryThreshold', /1 to 100/],
  ['recoveryThreshold', null, 'recoveryThreshold', /integer/],
  ['regions', 'default', 'regions', /array of region codes/],
  ['regions', null, 'regions', /array of region codes/],
  ['regions', {}, 'regions', /array of region codes/],
  ['regions', ['EU'], 'regions.0', /lower-case/],
  ['regions', ['eu', ''], 'regions.1', /region code/],
  ['regions', ['eu', '-us'], 'regions.1', /region code/],
  ['regions', [5], 'regions.0', /must be a string/],
  ['regions', ['eu\0'], 'regions.0', /region code/],
  ['regions', ['a'.repeat(64)], 'regions.0', /63/],
  ['regions', ['eu', 'eu'], 'regions', /twice/],
  ['regions', Array.from({ length: 21 }, (_, index) => `r${index}`), 'regions', /at most 20/],
  ['runbookUrl', '', 'runbookUrl', /full URL/],
  ['runbookUrl', 'wiki/shop', 'runbookUrl', URL_RULE],
  ['runbookUrl', 5, 'runbookUrl', /must be a string/],
  ['externalId', '', 'externalId', /must not be blank/],
  ['externalId', 'a'.repeat(256), 'externalId', /at most 255/],
  ['externalId', 5, 'externalId', /must be a string/],
  ['source', ' ', 'source', /must not be blank/],
  ['source', 'a\udc00', 'source', /lone surrogate/],
  ['source', [], 'source', /must be a string/],
  ['labels', [], 'labels', /must be an object/],
  ['labels', { app: 5 }, 'labels.app', /string/],
  ['labels', { 'a b': 'x' }, 'labels.a b', /letters/],
  ['labels', { app: '-x' }, 'labels.app', /letters/],
  ['color', 'red', 'color', /is not a known field; known fields: name, url, type, /],
  ['status', 'UP', 'status', /is not a known field/],
  ['id', '1', 'id', /is not a known field/],
  ['failure_threshold', 3, 'failure_threshold', /did you mean `failureThreshold`/],
  ['intervalSeconds', 3, 'intervalSeconds', /did you mean `interval`/],
  ['URL', 'http://a.example', 'URL', /did you mean `url`/],
  ['asertions', {}, 'asertions', /did you mean `assertions`/],
];

interface Errors {
  readonly errors: { path: string; message: string }[];
}

test('the table contains every field', () => {
  const named = new Set(BAD.map(([field]) => field));
  expect(Object.keys(createMonitorSchema.shape).filter((field) => !named.has(field))).toEqual([]);
});

describe.each(BAD)('%s = %j', (field, value, path, rule) => {
  const expected = expect.objectContaining({ path, message: expect.stringMatching(rule) });

  test('on create: 400 with the field and the allowed values', async () => {
    const body = { name: 'a', url: 'http://a.example', [field]: value };
    const response = await api.as().post(MONITORS).send(body);
    expect([response.status, response.type]).toEqual([400, 'application/problem+json']);
    expect((response.body as Errors).errors).toContainEqual(expected);
  });

  test('on update: the same', async () => {
    const response = await api
      .as()
      .put(`${MONITORS}/${monitor.id}`)
      .send({ [field]: value });
    expect(response.status).toBe(400);
    expect((response.body as Errors).errors).toContainEqual(expected);
  });
});

describe('invalid fields', () => {
  test('are all reported at once', async () => {
    const body = {
      name: ' ',
      interval: 1,
      method: 'HEAD',
      assertions: { bodyContains: 'a', statusCode: 1, color: 1 },
      regions: ['EU'],
      headers: { 'X-A': 1, 'X B': 'b' },
      color: 'red',
    };
    const response = await api.as().post(MONITORS).send(body);
    expect((response.body as Errors).errors.map(({ path }) => path).toSorted()).toEqual(
      [
        'name',
        'url',
        'interval',
        'assertions.statusCode',
        'assertions.color',
        'regions.0',
        'headers.X-A',
        'headers.X B',
        'color',
      ].toSorted(),
    );
  });

  test('are limited in number, however many a body has', async () => {
    const body = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${index}`, 1]));
    const response = await api.as().post(MONITORS).send(body);
    expect(response.status).toBe(400);
    expect((response.body as Errors).errors).toHaveLength(100);
    expect(response.text.length).toBeLessThan(100_000);
  });

  test('without a body: 400 with the missing fields', async () => {
    for (const request of [api.as().post(MONITORS), api.as().post(MONITORS).send({})]) {
      const response = await request;
      expect(response.status).toBe(400);
      expect((response.body as Errors).errors).toEqual([
        { path: 'name', message: 'is required' },
        { path: 'url', message: 'is required' },
      ]);
    }
  });
});

describe('rules between fields', () => {
  const rule = { path: 'assertions.bodyContains', message: expect.stringContaining('HEAD') };

  test('bodyContains with HEAD, on create: 400, even together with other errors', async () => {
    const body = { name: 'a', url: 'http://a.example', method: 'HEAD', assertions: { bodyContains: 'a' } };
    for (const more of [{}, { interval: 1 }]) {
      const response = await api
        .as()
        .post(MONITORS)
        .send({ ...body, ...more });
      expect(response.status).toBe(400);
      expect((response.body as Errors).errors).toContainEqual(rule);
    }
  });

  test('are applied to the merged monitor of an update', async () => {
    const { id } = await newMonitor(api, { assertions: { bodyContains: 'a' } });
    const response = await api.as().put(`${MONITORS}/${id}`).send({ method: 'HEAD' });
    expect(response.status).toBe(400);
    expect((response.body as Errors).errors).toContainEqual(rule);
    const fixed = await api.as().put(`${MONITORS}/${id}`).send({ method: 'HEAD', assertions: null });
    expect(fixed.status).toBe(200);
  });
});

test('refused requests write nothing', async () => {
  const { rows } = await api.database.pool.query<{ count: number }>('select count(*)::int from monitors');
  expect(rows).toEqual([{ count: 2 }]);
  const response = await api.as().get(`${MONITORS}/${monitor.id}`);
  expect(response.body).toEqual({ monitor, events: [] });
  expect(api.touched.filter(({ monitorId }) => monitorId === monitor.id)).toHaveLength(1);
});
