import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { checkOf } from '@tocsin/db/testing/check-record';
import { parseMetrics, type Sample } from '@tocsin/embedded/testing/metrics-text';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { useTestApi } from '../testing/test-api.ts';

const METRICS = '/api/cli/metrics';

const api = await useTestApi();

async function scrape(query: Readonly<Record<string, string>> = {}): Promise<Sample[]> {
  const response = await api.as(api.account.readKey).get(METRICS).query(query);
  expect([response.status, response.headers]).toMatchObject([
    200,
    { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
  ]);
  return parseMetrics(response.text);
}

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
  // Without the labels that all samples of the monitor have.
  const lines = (await scrape()).map(
    ({ name, labels: { monitor_id: _id, name: _name, external_id: _e, source: _s, ...labels }, value }) =>
      [name, ...Object.entries(labels).map(([key, of]) => `${key}=${of}`), value].join(' '),
  );
  expect(lines).toEqual([
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
  const names = ['back\\slash', '\\n', '",status="UP"} 1\n# TYPE x', 'a\r\t\u2028{} 東京'];
  const expected: object[] = [];
  for (const name of names) {
    const { id } = await newMonitor(api, { name, externalId: `${name}!`, source: `${name}?` });
    expected.push({ monitor_id: id, name, external_id: `${name}!`, source: `${name}?`, status: 'UP' });
  }
  const found = (await scrape()).filter(
    ({ name, labels }) => name === 'tocsin_monitor_status' && labels['status'] === 'UP',
  );
  expect(found.map(({ labels }) => labels)).toEqual(expect.arrayContaining(expected));
});

test('copies the labels that are named, with names that Prometheus accepts', async () => {
  const source = randomUUID();
  await newMonitor(api, { name: 'With', source, labels: { app: 'shop', 'example.com/tier-2': 'a.b-c_d' } });
  await newMonitor(api, { name: 'Without', source });
  const samples = await scrape({ source, labels: 'app,example.com/tier-2,app,constructor' });
  const copied = new Set(
    samples.map(({ labels: { name, label_app, label_example_com_tier_2, label_constructor } }) =>
      [name, label_app, label_example_com_tier_2, label_constructor].join(' '),
    ),
  );
  expect(copied).toEqual(new Set(['With shop a.b-c_d ', 'Without   ']));
});

test.each([
  [{ labels: '' }, 'must be names of labels separated by commas'],
  [{ labels: 'a b'.repeat(2_000) }, 'must be names of labels'],
  [{ labels: 'app.name,app-name' }, 'must not name both app.name and app-name: both become label_app_name'],
  [{ labels: Array.from({ length: 21 }, (_, index) => `l${index}`).join(',') }, 'must be at most 20'],
  [{ labels: ['a', 'b'] }, 'must be given only once'],
  [{ source: ' ' }, 'must not be blank'],
])('refuses %# with a short reason', async (query, message) => {
  const response = await api.as().get(METRICS).query(query);
  expect(response.status).toBe(400);
  expect(response.body.errors).toMatchObject([{ message: expect.stringContaining(message) }]);
  expect(response.text.length).toBeLessThan(1_000);
});
