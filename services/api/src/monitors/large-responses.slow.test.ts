import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { parseMetrics } from '@tocsin/embedded/testing/metrics-text';
import { until } from '@tocsin/embedded/testing/until';
import { FULL_MONITOR, MONITORS, newMonitor } from '../testing/monitors.ts';
import { useTestApi } from '../testing/test-api.ts';

const METRICS = '/api/cli/metrics';
/** Several pages or chunks, and more bytes than the kernel buffers for a client that does not read. */
const COUNT = 5_000;
const URL_CHARACTERS = 2_000;
/** Lists, and metrics, in progress. */
const LISTS = 16;
const RESPONSES = 4;

const api = await useTestApi();
const headers = { Authorization: `Bearer ${api.account.key}` };
await newMonitor(api, { ...FULL_MONITOR, labels: { 'example.com/team': 'a' } });
async function addMonitors(accountId: string, count: number): Promise<void> {
  await api.database.pool.query(
    `with added as (
     insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold, regions,
       created_at, last_checked_at, status, error_detail, assertions, runbook_url)
     select gen_random_uuid(), $1, 'Größe "' || n || '"', rpad('https://a.example/', $3::int, md5(n::text)), 'HTTP', 60, 10, 'GET',
       1, '{}', '2026-01-01'::timestamptz + (n / 3) * interval '1 ms', case when n % 2 = 0 then now() end,
       case when n % 3 = 0 then 'DOWN' else 'UP' end, 'refused', case when n % 5 = 0 then '{"bodyContains": "\\u2028\\""}'::jsonb end,
       rpad('https://b.example/', $3::int, md5(n::text))
     from generate_series(1, $2::int) as n returning id)
   insert into monitor_regions (monitor_id, region) select id, 'default' from added`,
    [accountId, count, URL_CHARACTERS],
  );
}
await addMonitors(api.account.id, COUNT);

interface SlowClient {
  readonly sent: ClientRequest;
  readonly response: IncomingMessage;
}

/** Sends a request and reads only the head of the response. */
async function openSlowly(path: string): Promise<SlowClient> {
  const sent = request({ port: api.port, path, headers }).end();
  sent.on('error', () => undefined);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.pause();
  return { sent, response };
}

test.each([MONITORS, METRICS])(
  '%s is complete and compressed, and the same when it is not compressed',
  async (path) => {
    const [gzip, identity] = await Promise.all(
      ['gzip', 'identity'].map((encoding) => api.as().get(path).set('Accept-Encoding', encoding)),
    );
    expect(gzip?.headers['content-encoding']).toBe('gzip');
    expect(identity?.headers['content-encoding']).toBeUndefined();
    expect(gzip?.headers['etag']).toBe(identity?.headers['etag']);
    expect(gzip?.text === identity?.text).toBe(true);
    if (path === METRICS) {
      const ids = parseMetrics(gzip?.text ?? '').map(({ labels }) => labels['monitor_id']);
      expect(new Set(ids).size).toBe(COUNT + 1);
    }
  },
);

describe('a long list', () => {
  test('waits for a slow client without a connection to Postgres, and ends once the client reads', async () => {
    const { response } = await openSlowly(MONITORS);
    const { pool } = api.database;
    await until('every connection is idle', () => pool.idleCount === pool.totalCount);
    expect((await api.as().get(`${MONITORS}/by-external-id/shop-prod`)).status).toBe(200);
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
    expect((JSON.parse(text) as { monitors: unknown[] }).monitors).toHaveLength(COUNT + 1);
  });

  test('of another account is sent while clients of this one do not read, and these stay connected', async () => {
    const slow: SlowClient[] = [];
    while (slow.length < LISTS) slow.push(await openSlowly(MONITORS));
    await addMonitors(api.other.id, 1_000);
    expect((await api.as(api.other.key).get(MONITORS)).status).toBe(200);
    await Promise.all(slow.map(({ response }) => once(response.resume(), 'end')));
  });

  test('is never cut off unnoticed, because an error breaks the connection', async () => {
    const { response } = await openSlowly(MONITORS);
    await api.database.pool.query('alter table monitors rename to hidden_monitors');
    try {
      await expect(response.resume().toArray()).rejects.toThrow('aborted');
      const failed = await api.as().get(MONITORS);
      expect([failed.status, failed.headers['etag']]).toEqual([500, undefined]);
      expect(failed.body).toMatchObject({ type: 'urn:tocsin:problem:internal' });
    } finally {
      await api.database.pool.query('alter table hidden_monitors rename to monitors');
    }
    expect((await api.as().get(MONITORS)).status).toBe(200);
  });
});

describe('the metrics of many monitors', () => {
  test('do not affect other requests while clients do not read, and begin when one of these disconnects', async () => {
    const clients: SlowClient[] = [];
    while (clients.length < RESPONSES) clients.push(await openSlowly(METRICS));
    expect((await api.as().get(`${MONITORS}/by-external-id/shop-prod`)).status).toBe(200);
    const waiting = api.as().get(METRICS).then();
    clients[0]?.sent.destroy();
    expect((await waiting).status).toBe(200);
    for (const { sent } of clients) sent.destroy();
  });

  test('a client that disconnects while its request waits behind another one frees its place', async () => {
    const head = `GET ${METRICS} HTTP/1.1\r\nHost: a\r\nAuthorization: ${headers['Authorization']}\r\n\r\n`;
    const socket = connect(api.port);
    await once(socket, 'connect');
    socket.write(head.repeat(2));
    await once(socket, 'data');
    socket.pause();
    socket.destroy();
    const responses = await Promise.all(Array.from({ length: RESPONSES }, () => api.as().get(METRICS)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
  });
});
