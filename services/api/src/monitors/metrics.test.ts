import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { parseMetrics, type Sample } from '@tocsin/embedded/testing/metrics-text';
import { until } from '@tocsin/embedded/testing/until';
import { checkOf, MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const METRICS = '/api/cli/metrics';
/** Enough for several chunks. */
const MANY = 3_000;

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

async function scrape(query: Readonly<Record<string, string>> = {}, key?: string): Promise<Sample[]> {
  const response = await api.as(key).get(METRICS).query(query);
  expect(response.status).toBe(200);
  return parseMetrics(response.text);
}

/** The samples of a monitor, as lines without the labels that all of them have. */
async function linesOf(id: string): Promise<string[]> {
  return (await scrape())
    .filter(({ labels }) => labels['monitor_id'] === id)
    .map(
      ({ name, labels: { monitor_id: _id, name: _name, external_id: _e, source: _s, ...labels }, value }) =>
        [name, ...Object.entries(labels).map(([key, of]) => `${key}=${of}`), value].join(' '),
    );
}

async function addMonitors(count: number, source: string): Promise<void> {
  await api.database.pool.query(
    `with added as (
       insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold, regions, source)
       select gen_random_uuid(), $1, 'Monitor ' || n, 'https://shop.example', 'HTTP', 60, 10, 'GET', 1, '{}', $2
       from generate_series(1, $3::int) as n returning id)
     insert into monitor_regions (monitor_id, region) select id, 'default' from added`,
    [api.account.id, source, count],
  );
}

describe('GET /api/cli/metrics', () => {
  test('returns every metric of a monitor', async () => {
    const { id } = await newMonitor(api, { name: 'Shop', regions: ['eu', 'us'] });
    const certificateExpiresAt = new Date('2030-01-01T00:00:00.250Z');
    await recordChecks(api.context.db, [checkOf(id, { region: 'eu', latencyMs: 51, certificateExpiresAt })]);
    await recordChecks(api.context.db, [checkOf(id, { region: 'eu', status: 'DOWN', latencyMs: 60_000 })]);
    const { lastCheckedAt } = (await api.as().get(`${MONITORS}/${id}`)).body.monitor as {
      lastCheckedAt: string;
    };
    const bucket = (region: string, bound: string, count: number): string =>
      `tocsin_monitor_check_duration_seconds_bucket region=${region} le=${bound} ${count}`;
    expect(await linesOf(id)).toEqual([
      'tocsin_monitor_status status=PENDING 0',
      'tocsin_monitor_status status=UP 1',
      'tocsin_monitor_status status=DOWN 0',
      'tocsin_monitor_status status=MAINTENANCE 0',
      'tocsin_monitor_checks_total region=eu result=up 1',
      'tocsin_monitor_checks_total region=eu result=down 1',
      'tocsin_monitor_checks_total region=eu result=inconclusive 0',
      'tocsin_monitor_checks_total region=us result=up 0',
      'tocsin_monitor_checks_total region=us result=down 0',
      'tocsin_monitor_checks_total region=us result=inconclusive 0',
      bucket('eu', '0.05', 0),
      ...['0.1', '0.25', '0.5', '1', '2.5', '10'].map((bound) => bucket('eu', bound, 1)),
      bucket('eu', '+Inf', 2),
      'tocsin_monitor_check_duration_seconds_sum region=eu 60.051',
      'tocsin_monitor_check_duration_seconds_count region=eu 2',
      ...['0.05', '0.1', '0.25', '0.5', '1', '2.5', '10', '+Inf'].map((bound) => bucket('us', bound, 0)),
      'tocsin_monitor_check_duration_seconds_sum region=us 0',
      'tocsin_monitor_check_duration_seconds_count region=us 0',
      'tocsin_monitor_certificate_expiry_timestamp_seconds 1893456000.25',
      `tocsin_monitor_last_check_timestamp_seconds region=eu ${Date.parse(lastCheckedAt) / 1_000}`,
      'tocsin_monitor_incidents_total 0',
    ]);
  });

  test('escapes names, whatever they contain', async () => {
    const names = [
      'a"b',
      'back\\slash',
      'two\nlines',
      '\\n',
      'Größe 東京 😀',
      '",status="UP"} 1\n# TYPE x',
      'a\r\t\u2028{}',
    ];
    const ids = new Map<string, string>();
    for (const name of names) {
      const { id } = await newMonitor(api, { name, externalId: `${name}!`, source: `${name}?` });
      ids.set(id, name.trim());
    }
    const statuses = (await scrape()).filter(({ name }) => name === 'tocsin_monitor_status');
    const found = statuses.filter(
      ({ labels: { monitor_id: id = '', status } }) => ids.has(id) && status === 'UP',
    );
    expect(found.map(({ labels: { monitor_id: id = '', ...labels } }) => ({ id, ...labels }))).toEqual(
      [...ids].map(([id, name], index) => ({
        id,
        name,
        external_id: `${names[index]}!`,
        source: `${names[index]}?`,
        status: 'UP',
      })),
    );
  });

  test('copies the labels that are named, with names that Prometheus accepts', async () => {
    const source = randomUUID();
    await newMonitor(api, { name: 'With', source, labels: { app: 'shop', 'example.com/tier-2': 'a.b-c_d' } });
    await newMonitor(api, { name: 'Without', source });
    const samples = await scrape({ source, labels: 'app,example.com/tier-2,app,constructor' });
    expect(samples.length).toBeGreaterThan(0);
    const copied = new Set(
      samples.map(({ labels: { name, label_app, label_example_com_tier_2, label_constructor } }) =>
        [name, label_app, label_example_com_tier_2, label_constructor].join(' '),
      ),
    );
    expect(copied).toEqual(new Set(['With shop a.b-c_d ', 'Without   ']));
  });

  test.each([
    ['', 'must be names of labels separated by commas'],
    ['app,', 'must be names of labels separated by commas'],
    ['app team', '"app team"'],
    ['a b'.repeat(2_000), 'must be names of labels'],
    ['app.name,app-name', 'must not name both app.name and app-name: both become label_app_name'],
    [Array.from({ length: 21 }, (_, index) => `l${index}`).join(','), 'must be at most 20 names of labels'],
  ])('refuses the labels %p', async (labels, message) => {
    const response = await api.as().get(METRICS).query({ labels });
    expect(response.status).toBe(400);
    expect(response.body.errors).toEqual([{ path: 'labels', message: expect.stringContaining(message) }]);
    expect(response.text.length).toBeLessThan(1_000);
  });

  test.each([{ source: ' ' }, { source: ['a', 'b'] }, { labels: ['a', 'b'] }])(
    'refuses %j',
    async (query) => {
      expect((await api.as().get(METRICS).query(query)).status).toBe(400);
    },
  );

  test('has only the monitors of the account and the source that exist', async () => {
    const source = randomUUID();
    const [kept, deleted] = [await newMonitor(api, { source }), await newMonitor(api, { source })];
    await newMonitor(api, { source }, api.other.key);
    await api.as().delete(`${MONITORS}/${deleted.id}`);
    const ids = new Set((await scrape({ source })).map(({ labels }) => labels['monitor_id']));
    expect(ids).toEqual(new Set([kept.id]));
    expect(await scrape({ source: 'none' })).toEqual([]);
  });

  test('has the content type of the format, needs no scope, and answers HEAD', async () => {
    const response = await api.as(api.account.readKey).get(METRICS);
    expect(response.headers).toMatchObject({
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'cache-control': 'no-store',
    });
    const head = await api.as().head(METRICS);
    expect([head.status, head.headers['content-type']]).toEqual([200, response.headers['content-type']]);
  });

  test('passes the checks of promtool', async () => {
    await newMonitor(api, { name: 'A "name"', labels: { app: 'shop' } });
    const { text } = await api.as().get(METRICS).query({ labels: 'app' });
    const problem = await checkWithPromtool(text);
    if (problem === 'not installed' && process.env['CI'] === undefined) return;
    expect(problem).toBe('');
    expect(await checkWithPromtool(`${text}\nbroken{`)).not.toBe('');
  });
});

/** @returns what promtool reports; empty if all is well */
function checkWithPromtool(text: string): Promise<string> {
  return new Promise((resolve) => {
    const program = execFile('promtool', ['check', 'metrics'], (error, stdout, stderr) => {
      const isMissing = error !== null && 'code' in error && error.code === 'ENOENT';
      resolve(
        isMissing ? 'not installed' : error === null ? stdout + stderr : stdout + stderr || error.message,
      );
    });
    program.stdin?.on('error', () => undefined);
    program.stdin?.end(text);
  });
}

describe('with many monitors', () => {
  const source = 'many';
  const path = `${METRICS}?source=${source}`;
  let headers: Record<string, string>;
  beforeAll(async () => {
    await addMonitors(MANY, source);
    headers = { Authorization: `Bearer ${api.account.key}` };
  });

  test('is complete and the same, compressed or not', async () => {
    const plain = await api.as().get(path).set('Accept-Encoding', 'identity');
    const compressed = await api.as().get(path).set('Accept-Encoding', 'gzip');
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(compressed.text).toBe(plain.text);
    const ids = parseMetrics(plain.text).map(({ labels }) => labels['monitor_id']);
    expect(new Set(ids).size).toBe(MANY);
  });

  test('other requests are served while clients do not read, and further ones are refused until one leaves', async () => {
    const clients = await Promise.all(
      [0, 1].map(async () => {
        const sent = request({ port: api.port, path, headers }).end();
        const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
        response.pause();
        return sent;
      }),
    );
    expect((await api.as().get(MONITORS)).status).toBe(200);
    expect((await api.as(api.other.key).get(METRICS)).status).toBe(200);
    const refused = await api.as().get(path);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    clients[0]?.destroy();
    await until('a place is free', async () => (await api.as().get(path)).status === 200);
    clients[1]?.destroy();
  });

  test('a client that leaves while its request waits behind another one frees its place', async () => {
    const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${headers['Authorization']}\r\n\r\n`;
    const socket = connect(api.port);
    await once(socket, 'connect');
    socket.write(head.repeat(2));
    await once(socket, 'data');
    socket.pause();
    socket.destroy();
    await until('both places are free', async () => {
      const responses = await Promise.all([api.as().get(path), api.as().get(path)]);
      return responses.every(({ status }) => status === 200);
    });
  });
});
