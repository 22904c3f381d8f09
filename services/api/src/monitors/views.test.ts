import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { MonitorRegion, RecentChecks } from '@tocsin/contracts/monitors/events';
import type { Overview } from '@tocsin/contracts/monitors/overview';
import type { MonitorStates, MonitorStats } from '@tocsin/contracts/monitors/stats';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { checkOf } from '@tocsin/db/testing/check-record';
import { MONITORS, newMonitor, recordCheck } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';

const DASHBOARD = '/api/dashboard/monitors';
const FAILED = { status: 'DOWN', statusCode: 500, errorReason: 'HTTP_500' } as const;

const api = await useTestApi();
const member = await signIn(api, { role: 'member' });

async function get<Body>(path: string): Promise<Body> {
  const response = await member.get(path);
  expect([response.status, response.body]).toEqual([200, expect.anything()]);
  return response.body as Body;
}

async function record(id: string, fields: Partial<CheckRecord>): Promise<void> {
  const [outcome] = await recordChecks(api.context.db, [checkOf(id, fields)]);
  expect(outcome?.kind).toBe('recorded');
}

describe('GET /api/dashboard/overview', () => {
  test('has every monitor of the account, newest first, with its open incident', async () => {
    const fields = { labels: { app: 'shop' }, externalId: 'shop', source: 'prod' };
    const down = await newMonitor(api, { name: 'Down', ...fields });
    const up = await newMonitor(api, { name: 'Up', interval: 30 });
    await newMonitor(api, {}, api.other.key);
    await recordCheck(api, up.id, true);
    await recordCheck(api, up.id);
    await recordCheck(api, down.id, true);
    await api.database.pool.query(
      `insert into monitor_regions (monitor_id, region, certificate_expires_at) values
         ($1, 'a', '2031-01-01T00:00:00Z'), ($1, 'b', '2030-01-01T00:00:00Z'), ($1, 'c', null)`,
      [down.id],
    );
    const { position, monitors } = await get<Overview>('/api/dashboard/overview');
    expect(Date.parse(position)).toBeLessThanOrEqual(Date.now() + 60_000);
    expect(monitors.map(({ name }) => name)).toEqual(['Up', 'Down']);
    for (const { certificateExpiresAt: _, incident: __, failing, ...listed } of monitors) {
      expect(await get(`${DASHBOARD}/${listed.id}`)).toMatchObject({ monitor: listed });
      expect(failing).toBe(listed.status === 'DOWN');
    }
    const { incidents } = await get<{ incidents: { id: string; openedAt: string; monitorId: string }[] }>(
      '/api/dashboard/incidents',
    );
    const open = incidents.find(({ monitorId }) => monitorId === down.id);
    expect(monitors[1]).toMatchObject({
      ...fields,
      status: 'DOWN',
      certificateExpiresAt: '2030-01-01T00:00:00.000Z',
      incident: { id: open?.id, openedAt: open?.openedAt, acknowledgedAt: null, acknowledgedBy: null },
    });
    const resolved = { status: 'UP', certificateExpiresAt: null, incident: null, errorDetail: null };
    expect(monitors[0]).toMatchObject(resolved);
  });

  test('has a position without monitors, too', async () => {
    const stranger = await signIn(api, { accountId: api.other.id });
    await api.database.pool.query('delete from monitors where account_id = $1', [api.other.id]);
    const { body } = await stranger.get('/api/dashboard/overview');
    expect(body).toEqual({ monitors: [], position: expect.any(String) });
  });
});

describe('GET /api/dashboard/monitors/recent-checks', () => {
  const PATH = `${DASHBOARD}/recent-checks`;
  const read = async (...ids: string[]): Promise<RecentChecks[]> =>
    (await get<{ recentChecks: RecentChecks[] }>(`${PATH}?monitorIds=${ids.join(',')}`)).recentChecks;

  test('returns the latest 30 checks of each monitor, oldest first, in the order of the ids', async () => {
    const [busy, idle, quiet] = [await newMonitor(api), await newMonitor(api), await newMonitor(api)];
    for (let latencyMs = 1; latencyMs <= 32; latencyMs += 1) await record(busy.id, { latencyMs });
    await record(quiet.id, { ...FAILED, latencyMs: 0 });
    const [ofQuiet, ofBusy, ...rest] = await read(quiet.id, busy.id.toUpperCase(), idle.id, busy.id);
    const checks = [{ status: 'DOWN', latency: 0, region: 'default' }];
    expect(ofQuiet).toMatchObject({ monitorId: quiet.id, checks });
    expect(ofBusy?.checks.map(({ latency }) => latency)).toEqual(
      Array.from({ length: 30 }, (_, index) => index + 3),
    );
    expect(rest).toEqual([{ monitorId: idle.id, checks: [] }]);
  });

  test('omits checks of another URL and checks older than 14 days', async () => {
    const { id } = await newMonitor(api);
    await record(id, { latencyMs: 1 });
    const trigger = { source: 'trigger', slot: null } as const;
    await record(id, { ...trigger, latencyMs: 2, urlOverride: 'https://preview.example' });
    await record(id, { ...trigger, latencyMs: 3 });
    const [from, to] = [30, 12].map((days) => new Date(Date.now() - days * 86_400_000).toISOString());
    await api.database.pool.query(
      `create table events_old partition of events for values from ('${from?.slice(0, 10)}') to ('${to?.slice(0, 10)}')`,
    );
    await api.database.pool.query(
      `insert into events (monitor_id, timestamp, id, status, latency_ms, region, source)
       select $1, now() - age, gen_random_uuid(), 'UP', extract(day from age), 'default', 'schedule'
       from (values (interval '13 days 12 hours'), (interval '15 days')) as ages (age)`,
      [id],
    );
    expect((await read(id))[0]?.checks.map(({ latency }) => latency)).toEqual([13, 1, 3]);
  });

  test('accepts 200 ids, and omits unknown monitors and monitors of another account', async () => {
    const [own, foreign] = [await newMonitor(api), await newMonitor(api, {}, api.other.key)];
    const unknown = Array.from({ length: 198 }, () => randomUUID());
    expect(await read(foreign.id, ...unknown, own.id)).toEqual([{ monitorId: own.id, checks: [] }]);
  });

  const id = randomUUID();
  test.each([
    ['without ids', ''],
    ['a comma at the end', `?monitorIds=${id},`],
    ['two lists', `?monitorIds=${id}&monitorIds=${id}`],
    ['201 ids', `?monitorIds=${Array.from({ length: 201 }, () => randomUUID()).join(',')}`],
  ])('%s: 400', async (_name, query) => {
    const { status, body } = await member.get(PATH + query);
    expect([status, body]).toMatchObject([
      400,
      { errors: [{ path: expect.stringMatching(/^monitorIds(\.\d+)?$/) }] },
    ]);
  });
});

describe('GET /api/dashboard/monitors/:id/regions', () => {
  const read = async (id: string): Promise<MonitorRegion[]> =>
    (await get<{ regions: MonitorRegion[] }>(`${DASHBOARD}/${id}/regions`)).regions;

  test('returns the latest result of each region, by code', async () => {
    const { id } = await newMonitor(api, { regions: ['us', 'eu', 'ap'], failureThreshold: 2 });
    for (const region of ['us', 'us', 'eu']) await record(id, { region, ...FAILED });
    const common = { eligible: true, lastCheckedAt: expect.any(String), certificateExpiresAt: null };
    const failing = { failing: true, consecutiveFailures: 2 };
    const passing = { failing: false, consecutiveFailures: 0 };
    expect(await read(id)).toEqual([
      { region: 'ap', status: null, ...common, ...passing, lastCheckedAt: null },
      { region: 'eu', status: 'DOWN', ...common, failing: false, consecutiveFailures: 1 },
      { region: 'us', status: 'DOWN', ...common, ...failing },
    ]);
    await record(id, { region: 'us' });
    const { monitor } = await get<{ monitor: { lastCheckedAt: string } }>(`${DASHBOARD}/${id}`);
    const { lastCheckedAt } = monitor;
    expect((await read(id))[2]).toMatchObject({ status: 'UP', ...passing, lastCheckedAt });
  });

  test('a region without a result for three intervals and the timeout is not eligible', async () => {
    const { id } = await newMonitor(api, { interval: 60, timeout: 10, regions: ['fresh', 'stale'] });
    await record(id, { region: 'stale' });
    await api.database.pool.query(
      `update monitor_regions set last_result_at = now() - case region when 'stale' then 191 else 0 end * interval '1 second'
       where monitor_id = $1`,
      [id],
    );
    expect((await read(id)).map(({ eligible }) => eligible)).toEqual([true, false]);
  });

  test('returns the certificate last seen of the current check', async () => {
    const { id } = await newMonitor(api);
    const update = (fields: object) => api.as().put(`${MONITORS}/${id}`).send(fields).expect(200);
    const [first, second] = [new Date('2027-01-02T03:04:05Z'), new Date('2028-01-02T03:04:05Z')];
    const preview = { urlOverride: 'https://preview.example', source: 'trigger', slot: null } as const;
    const steps: [what: string, step: () => Promise<unknown>, seen: Date | null][] = [
      ['a first one', () => record(id, { certificateExpiresAt: first }), first],
      ['a failure before TLS', () => record(id, { ...FAILED, statusCode: null }), first],
      ['that of another URL', () => record(id, { ...preview, certificateExpiresAt: second }), first],
      ['a new one', () => record(id, { certificateExpiresAt: second }), second],
      ['another timeout', async () => update({ timeout: 20 }), second],
      ['another URL of the monitor', async () => update({ url: 'http://shop.example/health' }), null],
      ['a late result', () => record(id, { revision: 1, certificateExpiresAt: first }), null],
      ['a result without one', () => record(id, { revision: 3 }), null],
    ];
    for (const [what, step, seen] of steps) {
      await step();
      const [region] = await read(id);
      expect([what, region?.certificateExpiresAt]).toEqual([what, seen?.toISOString() ?? null]);
    }
  });
});

describe('GET /api/dashboard/monitors/:id/stats and /states', () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await newMonitor(api));
    for (const fields of [{}, { latencyMs: 300 }, FAILED]) await record(id, fields);
  });
  const stats = async (query = ''): Promise<MonitorStats> =>
    (await get<{ stats: MonitorStats }>(`${DASHBOARD}/${id}/stats${query}`)).stats;

  test('return the statistics of the last 24 hours', async () => {
    const result = await stats();
    const figures = { checks: 3, failures: 1, passRate: 2 / 3 };
    expect(result).toMatchObject({ window: '24h', ...figures, regions: [{ region: 'default', ...figures }] });
    expect(result.series).toHaveLength(24);
  });

  test('return the statistics of another window or period', async () => {
    expect(await stats('?window=90d')).toMatchObject({ window: '90d', checks: 3 });
    const [from, to] = [-600_000, 3_600_000].map((ms) => new Date(Date.now() + ms).toISOString());
    const period = { window: null, checks: 3, bucketSeconds: 60 };
    expect(await stats(`?from=${from}&to=${to}`)).toMatchObject(period);
  });

  test('return when the monitor had which status', async () => {
    const { states } = await get<{ states: MonitorStates }>(`${DASHBOARD}/${id}/states?window=1h`);
    expect(states.incidents).toBe(1);
    expect(states.periods[0]).toMatchObject({ status: null, from: states.from });
    expect(states.periods.at(-1)).toMatchObject({ status: 'DOWN', to: states.to, cause: 'HTTP_500' });
  });

  test.each([
    ['window=', 'window'],
    ['window=24h&window=7d', 'window'],
    ['from=2025-01-01&to=2026-01-02T00:00:00Z', 'from'],
    ['from=9000-01-01T00:00:00Z&to=9000-01-02T00:00:00Z', 'from'],
  ])('?%s: 400', async (query, path) => {
    for (const route of ['stats', 'states']) {
      const response = await member.get(`${DASHBOARD}/${id}/${route}?${query}`);
      expect([response.status, response.body]).toMatchObject([400, { errors: [{ path }] }]);
    }
  });
});
