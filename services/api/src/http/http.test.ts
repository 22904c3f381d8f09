import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { problemSchema } from '@tocsin/contracts/errors';
import { until } from '@tocsin/embedded/testing/until';
import { createLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { stopClock } from '../testing/stopped-clock.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { startHttpServer } from './http-server.ts';

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

describe('the server', () => {
  async function exchange(port: number, text: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
    socket.write(text);
    await once(socket, 'close');
    return received;
  }

  test('responds to bytes that are not HTTP with a problem and a request id', async () => {
    const server = await startHttpServer(() => undefined, { port: 0 });
    const received = await exchange(server.port, 'NONSENSE\r\n\r\n');
    expect(received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(received).toMatch(/X-Request-Id: [0-9a-f-]{36}\r\n/);
    expect(received).toContain('application/problem+json');
    const long = await exchange(
      server.port,
      `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
    );
    expect(long).toMatch(/^HTTP\/1\.1 431 /);
    await server.stop();
  });

  test('reports in one line that its port is in use', async () => {
    const server = await startHttpServer(() => undefined, { port: 0 });
    await expect(startHttpServer(() => undefined, { port: server.port })).rejects.toMatchObject({
      name: 'SettingsError',
      message: expect.stringMatching(/^PORT must be a free port, but \d+ is in use/),
    });
    await server.stop();
  });

  // Only Linux has a second loopback address.
  (process.platform === 'linux' ? test : test.skip)('listens on the address of HOST alone', async () => {
    const server = await startHttpServer(() => undefined, { port: 0, host: '127.0.0.1' });
    const socket = connect(server.port, '127.0.0.2');
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
    await server.stop();
  });

  test('reports in one line that its address does not belong to this machine', async () => {
    await expect(startHttpServer(() => undefined, { port: 0, host: '192.0.2.1' })).rejects.toMatchObject({
      name: 'SettingsError',
      message: 'HOST must be an IP address of this machine, and 192.0.2.1 is not',
    });
  });

  test('finishes requests in progress before it stops, and closes idle connections', async () => {
    let finish: (() => void) | undefined;
    const server = await startHttpServer(
      (_req, res) => {
        finish = () => res.end('done');
      },
      { port: 0 },
    );
    const received = exchange(server.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await until('the request is under way', () => finish);
    const stopped = server.stop();
    finish?.();
    expect(await received).toMatch(/done/);
    await stopped;
  });

  test('closes a connection that never sent a request before those with a request in progress', async () => {
    let finish: (() => void) | undefined;
    const server = await startHttpServer(
      (_req, res) => {
        finish = () => res.end('done');
      },
      { port: 0 },
    );
    const unused = connect(server.port, '127.0.0.1');
    await once(unused, 'connect');
    // Accepted after the other connection.
    const received = exchange(server.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await until('the request is under way', () => finish);
    const closed = once(unused, 'close');
    const clock = stopClock();
    try {
      const stopped = server.stop();
      clock.advance(1_001);
      await closed;
      finish?.();
      expect(await received).toMatch(/done$/);
      await stopped;
    } finally {
      clock.restore();
    }
  });

  test('responds on a kept connection while it stops, and announces that it closes', async () => {
    const held: ServerResponse[] = [];
    const server = await startHttpServer(
      (req, res) => {
        if (req.url === '/held') held.push(res);
        else res.end('done');
      },
      { port: 0 },
    );
    const connections = [connect(server.port, '127.0.0.1'), connect(server.port, '127.0.0.1')] as const;
    const received = connections.map((socket) => {
      const received = { text: '', closed: once(socket, 'close') };
      socket.setEncoding('utf8').on('data', (chunk: string) => (received.text += chunk));
      return received;
    });
    const [idle, busy] = connections;
    idle.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    busy.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(
      'one request has its response, the other is in progress',
      () => received[0]?.text.endsWith('done') && held.length > 0,
    );
    expect(received[0]?.text).toContain('Connection: keep-alive');
    // With the clock stopped, the second that the idle connection has for another request does not pass.
    const clock = stopClock();
    const stopped = server.stop();
    idle.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    held[0]?.end('held');
    await Promise.all(received.map(({ closed }) => closed)).finally(() => clock.restore());
    const [again, first] = [received[0]?.text.split('done')[1], received[1]?.text];
    for (const text of [again, first])
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n/);
    expect(first).toMatch(/held$/);
    await stopped;
  });
});
