import { beforeAll, describe, expect, test } from '@jest/globals';
import { problemSchema } from '@tocsin/contracts/errors';
import { until } from '@tocsin/embedded/testing/until';
import { createMetrics } from '@tocsin/runtime/metrics';
import { captureLog } from '@tocsin/runtime/testing/captured-log';
import type supertest from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { newChannel } from '../testing/channels.ts';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, useTestApi } from '../testing/test-api.ts';
import { isOutage } from './errors.ts';

const metrics = createMetrics();
const log = captureLog({ level: 'debug' });
const api = await useTestApi({
  metrics,
  logger: log.logger,
  ready: { postgres: () => Promise.resolve(), queue: () => Promise.reject(new Error('secret cause')) },
});

const readLog = (): Record<string, unknown>[] => {
  const lines = log.text().split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
};

async function lineOf(requestId: string): Promise<Record<string, unknown>> {
  return until(`request ${requestId} is logged`, () =>
    readLog().find((line) => line['message'] === 'Request' && line['requestId'] === requestId),
  );
}

describe('request ids', () => {
  test.each(['a'.repeat(128), '0_.-Z'])('keep %s of the caller', async (id) => {
    const response = await api.as().get(MONITORS).set('X-Request-Id', id);
    expect(response.headers['x-request-id']).toBe(id);
  });

  test.each(['', 'a'.repeat(129), 'a"b'])('replace %j', async (id) => {
    const response = await api.as(null).get(MONITORS).set('X-Request-Id', id);
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
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
        {
          path: 'name',
          pointer: '/name',
          code: 'format',
          message: 'must not be blank (1 to 255 characters)',
        },
        { path: 'url', pointer: '/url', code: 'required', message: 'is required' },
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
    ['options', MONITORS, 'GET, HEAD, POST, PUT'],
    ['post', `${MONITORS}/no-id`, 'GET, HEAD, PUT, PATCH, DELETE'],
    ['get', `${MONITORS}/no-id/trigger`, 'POST'],
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
      const errors = readLog().filter((line) => line['requestId'] === requestId && line['level'] === 'error');
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
    expect(readLog().filter(({ requestId }) => requestId === 'one-line')).toHaveLength(1);
    expect(log.text()).not.toContain(api.account.key);
  });

  test('is measured by method, route and status', async () => {
    await api.as().get(`${MONITORS}/no-id`);
    const text = (await api.as(null).get('/metrics')).text;
    expect(text).toMatch(
      /tocsin_http_request_duration_seconds_count\{method="GET",route="\/api\/cli\/monitors\/:id",status="404"\} \d/,
    );
    expect(text).not.toContain('no-id');
  });

  test('gets a request id, security headers and no product name', async () => {
    const response = await api.as().get(MONITORS);
    expect(response.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'strict-transport-security': 'max-age=31536000',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
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
  test('/healthz and /metrics respond without a key, also to HEAD', async () => {
    const response = await api.as(null).get('/healthz');
    expect([response.status, response.body]).toEqual([200, { status: 'ok' }]);
    expect((await api.as(null).head('/healthz')).status).toBe(200);
    const metrics = await api.as(null).get('/metrics');
    expect(metrics.headers['content-type']).toContain('text/plain');
    expect(metrics.text).toContain('process_cpu_seconds_total');
  });

  test('/readyz names the store that does not respond, without the reason', async () => {
    const response = await api.as(null).get('/readyz');
    expect([response.status, response.body]).toEqual([
      503,
      { status: 'failing', failing: { queue: 'failed' } },
    ]);
    for (const path of ['/readyz', '/readyz/'])
      expect((await api.as(null).get(`${path}?exclude=queue`)).status).toBe(200);
  });
});

describe('compression', () => {
  const DASHBOARD = '/api/dashboard';
  /** Large enough to be compressed. */
  const LONG = '€'.repeat(255);
  let owner: TestAgent;
  let id: string;
  beforeAll(async () => {
    owner = await signIn(api);
    const fields = { name: LONG, headers: { Authorization: 'Bearer 1234' }, externalId: 'long' };
    ({ id } = await newMonitor(api, fields));
    await newChannel(owner, { name: LONG, allMonitors: false, monitorIds: [id] });
  });

  test.each<[string, () => TestAgent, string]>([
    ['a user', () => owner, `${DASHBOARD}/monitors`],
    ['a key', () => api.as(), `${MONITORS}/by-external-id/long`],
    ['a key that sees no secrets', () => api.as(api.account.readKey), `${MONITORS}/:id`],
  ])('is used and complete for %s: %s', async (_, agent, path) => {
    const get = (encoding: string) => agent().get(path.replace(':id', id)).set('Accept-Encoding', encoding);
    const response = await get('gzip');
    expect(response.headers).toMatchObject({
      'content-encoding': 'gzip',
      'cache-control': 'no-store',
      vary: expect.stringContaining('Accept-Encoding'),
    });
    const plain = await get('identity');
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(response.body).toEqual(plain.body);
  });

  test('is never used for a response with a secret', async () => {
    const { channel } = await newChannel(owner, { name: 'Short', allMonitors: false });
    const channelBody = { name: LONG, url: 'https://hooks.invalid/a', monitorIds: [id] };
    const requests: [request: supertest.Test, secret: string][] = [
      [owner.post(`${DASHBOARD}/channels`).send(channelBody), 'whsec_'],
      [owner.post(`${DASHBOARD}/channels/${channel.id}/rotate-secret`).send({}), 'whsec_'],
      [owner.get(`${DASHBOARD}/channels/${channel.id}/secret`), 'whsec_'],
      [owner.post(`${DASHBOARD}/api-keys`).send({ name: LONG }), 'tocsin_live_'],
      [owner.post(`${DASHBOARD}/invitations`).send({ role: 'member' }), 'token='],
      [owner.get(`${DASHBOARD}/monitors/${id}`), 'Bearer 1234'],
      [api.as().get(`${MONITORS}/${id}`), 'Bearer 1234'],
    ];
    for (const [request, secret] of requests) {
      const { url } = request;
      const { text, headers } = await request.set('Accept-Encoding', 'gzip');
      expect(text).toContain(secret);
      expect([url, headers['content-encoding'], headers['cache-control']]).toEqual([
        url,
        undefined,
        'no-store, no-transform',
      ]);
    }
  });
});

describe('an error is an outage:', () => {
  const errorOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => null,
      (error: unknown) => error,
    );

  /** Runs statements in one session that is ended afterwards. @returns the error of the last one */
  async function sessionError(...statements: readonly string[]): Promise<unknown> {
    const client = await api.database.pool.connect();
    try {
      for (const statement of statements.slice(0, -1)) await client.query(statement);
      return await errorOf(client.query(statements.at(-1) ?? ''));
    } finally {
      client.release(true);
    }
  }

  test('an ended session, and queries that are still sent in it', async () => {
    const client = await api.database.pool.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    await api.database.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    const errors: unknown[] = [];
    await until('the client refuses queries', async () => {
      errors.push(await errorOf(client.query('select pg_sleep(1)')));
      return /not queryable/.test(String(errors.at(-1)));
    });
    client.release(true);
    expect(errors.every((error) => isOutage(error))).toBe(true);
  });

  test('a lock that others hold, or a statement that runs, for too long', async () => {
    const holder = await api.database.pool.connect();
    await holder.query('begin');
    await holder.query('lock table monitors in access exclusive mode');
    const locked = await sessionError(`set lock_timeout = '1ms'`, 'select from monitors');
    holder.release(true);
    expect([locked, isOutage(locked)]).toMatchObject([{ code: '55P03' }, true]);
    const slow = await sessionError(`set statement_timeout = '1ms'`, 'select pg_sleep(10)');
    expect([slow, isOutage(slow)]).toMatchObject([{ code: '57014' }, true]);
  });

  test('but no mistake in a statement, nor any other error', async () => {
    expect(isOutage(await sessionError('select nothing'))).toBe(false);
    expect(isOutage(new TypeError('x is not a function'))).toBe(false);
    expect(isOutage(null)).toBe(false);
  });
});
