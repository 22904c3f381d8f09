import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { problemSchema } from '@tocsin/contracts/errors';
import { until } from '@tocsin/embedded/testing/until';
import { createLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let lines: Record<string, unknown>[];
const metrics = createMetrics();
beforeAll(async () => {
  lines = [];
  const stream = new PassThrough().setEncoding('utf8');
  stream.on('data', (text: string) => {
    for (const line of text.split('\n').filter(Boolean))
      lines.push(JSON.parse(line) as Record<string, unknown>);
  });
  api = await openTestApi({
    metrics,
    logger: createLogger({ service: 'test', level: 'debug', format: 'json', stream }),
    ready: { postgres: () => Promise.resolve(), queue: () => Promise.reject(new Error('secret cause')) },
  });
});
afterAll(() => api.close());

async function lineOf(requestId: string): Promise<Record<string, unknown>> {
  return until(`request ${requestId} is logged`, () =>
    lines.find((line) => line['message'] === 'Request' && line['requestId'] === requestId),
  );
}

describe('request ids', () => {
  test.each(['abc-123', 'a'.repeat(128), '0_.-Z'])('keep %s of the caller', async (id) => {
    const response = await api.as().get(MONITORS).set('X-Request-Id', id);
    expect(response.headers['x-request-id']).toBe(id);
  });

  test.each(['', 'a'.repeat(129), 'a b', 'a"b', 'a;b', '<script>'])('replace %j', async (id) => {
    const response = await api.as(null).get(MONITORS).set('X-Request-Id', id);
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('are in every response and in problems', async () => {
    for (const [path, key] of [
      ['/nothing', null],
      [MONITORS, null],
      [`${MONITORS}/no-id`, api.account.key],
      ['/healthz', null],
    ] as const) {
      const response = await api.as(key).get(path);
      const id = response.headers['x-request-id'];
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      if (response.status >= 400) expect(response.body).toMatchObject({ instance: id });
    }
  });
});

describe('problems', () => {
  test('have exactly the fields of RFC 9457 and our extensions', async () => {
    const response = await api.as().post(MONITORS).send({ name: '' });
    expect(response.type).toBe('application/problem+json');
    expect(problemSchema.parse(response.body)).toEqual({
      type: 'urn:tocsin:problem:validation-failed',
      title: 'The request is not valid',
      status: 400,
      detail: 'These fields are invalid: name, url.',
      instance: response.headers['x-request-id'],
      errors: [
        { path: 'name', message: 'must not be blank (1 to 255 characters)' },
        { path: 'url', message: 'is required' },
      ],
    });
  });

  test('for an unknown path: 404; under /api/cli only with a key', async () => {
    expect((await api.as(null).get('/nothing')).status).toBe(404);
    expect((await api.as(null).get('/api/cli/nothing')).status).toBe(401);
    for (const path of ['/api/cli', '/api/cli/nothing', '/api/cli/monitors/a/b/c', '/API/CLI/monitors']) {
      const response = await api.as().get(path);
      expect(response.status).toBe(404);
      expect(response.body).toMatchObject({ type: 'urn:tocsin:problem:not-found' });
    }
  });

  test.each([
    ['patch', MONITORS, 'GET, HEAD, POST, PUT'],
    ['delete', MONITORS, 'GET, HEAD, POST, PUT'],
    ['options', MONITORS, 'GET, HEAD, POST, PUT'],
    ['patch', `${MONITORS}/:id`, 'GET, HEAD, PUT, DELETE'],
    ['post', `${MONITORS}/no-id`, 'GET, HEAD, PUT, DELETE'],
    ['get', `${MONITORS}/:id/trigger`, 'POST'],
    ['post', `${MONITORS}/:id/events`, 'GET, HEAD'],
    ['post', '/healthz', 'GET, HEAD'],
  ] as const)('for %s %s: 405 with Allow: %s', async (method, path, allow) => {
    const response = await api.as()[method](path);
    expect(response.status).toBe(405);
    expect(response.headers['allow']).toBe(allow);
    if (path.startsWith('/api')) expect((await api.as(null)[method](path)).status).toBe(401);
  });

  test('for a 500 reveal no cause, which is logged once with the request id', async () => {
    await api.database.pool.query('alter table events rename to events_away');
    try {
      const { id } = await newMonitor(api);
      const response = await api.as().get(`${MONITORS}/${id}/events`);
      expect(response.status).toBe(500);
      expect(response.body).toEqual({
        type: 'urn:tocsin:problem:internal',
        title: 'Internal error',
        status: 500,
        detail: 'An unexpected error occurred.',
        instance: response.headers['x-request-id'],
      });
      const requestId = response.headers['x-request-id'] ?? '';
      await lineOf(requestId);
      const errors = lines.filter((line) => line['requestId'] === requestId && line['level'] === 'error');
      expect(errors).toHaveLength(1);
      expect(JSON.stringify(errors)).toContain('events');
    } finally {
      await api.database.pool.query('alter table events_away rename to events');
    }
  });
});

describe('each request', () => {
  test('writes one log line, without its query and its key', async () => {
    const { id } = await newMonitor(api);
    await api.as().get(`${MONITORS}/${id}/events?limit=3`).set('X-Request-Id', 'one-line');
    const line = await lineOf('one-line');
    expect(line).toMatchObject({
      level: 'info',
      method: 'GET',
      route: `${MONITORS}/:id/events`,
      path: `${MONITORS}/${id}/events`,
      status: 200,
      durationMs: expect.any(Number),
      apiKeyId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(lines.filter(({ requestId }) => requestId === 'one-line')).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain(api.account.key);
  });

  test('is measured by method, route and status', async () => {
    await api.as().get(`${MONITORS}/no-id`);
    const text = (await api.as(null).get('/metrics')).text;
    expect(text).toMatch(
      /tocsin_http_request_duration_seconds_count\{method="GET",route="\/api\/cli\/monitors\/:id",status="404"\} \d/,
    );
    expect(text).not.toContain('no-id');
  });

  test('gets security headers and no product name', async () => {
    const response = await api.as().get(MONITORS);
    expect(response.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'strict-transport-security': 'max-age=31536000',
    });
    expect(response.headers).not.toHaveProperty('x-powered-by');
  });

  test('extends HSTS to subdomains only with the setting', async () => {
    const strict = await openTestApi({ settings: { hstsIncludeSubDomains: true } });
    const response = await strict.as(null).get('/healthz');
    await strict.close();
    expect(response.headers['strict-transport-security']).toBe('max-age=31536000; includeSubDomains');
  });
});

describe('health', () => {
  test('/healthz responds without a key, also to HEAD', async () => {
    const response = await api.as(null).get('/healthz');
    expect([response.status, response.body]).toEqual([200, { status: 'ok' }]);
    expect((await api.as(null).head('/healthz')).status).toBe(200);
  });

  test('/readyz/ with a trailing slash is the same', async () => {
    expect((await api.as(null).get('/readyz/?exclude=queue')).status).toBe(200);
  });

  test('/readyz names the store that does not respond, without the reason', async () => {
    const response = await api.as(null).get('/readyz');
    expect([response.status, response.body]).toEqual([
      503,
      { status: 'failing', failing: { queue: 'failed' } },
    ]);
    expect((await api.as(null).get('/readyz?exclude=queue')).status).toBe(200);
  });

  test('/metrics returns Prometheus text', async () => {
    const response = await api.as(null).get('/metrics');
    expect(response.headers['content-type']).toContain('text/plain');
    expect(response.text).toContain('process_cpu_seconds_total');
  });
});
