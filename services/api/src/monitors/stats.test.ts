import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type MonitorStates, type MonitorStats, monitorStatsSchema } from '@tocsin/contracts/monitors/stats';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type TestAgent from 'supertest/lib/agent.js';
import { checkOf, MONITORS, newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const DASHBOARD = '/api/dashboard/monitors';

let api: TestApi;
let member: TestAgent;
let id: string;
beforeAll(async () => {
  api = await openTestApi();
  member = await signIn(api, { role: 'member' });
  ({ id } = await newMonitor(api));
  for (const fields of [
    {},
    { latencyMs: 300 },
    { status: 'DOWN', statusCode: 500, errorReason: 'HTTP_500' },
  ] as const) {
    await recordChecks(api.context.db, [checkOf(id, fields)]);
  }
});
afterAll(() => api.close());

async function stats(query = ''): Promise<MonitorStats> {
  const response = await member.get(`${DASHBOARD}/${id}/stats${query}`);
  expect(response.status).toBe(200);
  expect(Object.keys(response.body as object)).toEqual(['stats']);
  return monitorStatsSchema.parse((response.body as { stats: unknown }).stats);
}

describe('GET /api/dashboard/monitors/:id/stats', () => {
  test('returns the statistics of the last 24 hours', async () => {
    const result = await stats();
    const figures = { checks: 3, failures: 1, uptime: 2 / 3, latency: { p50: 12, p95: 298, p99: 298 } };
    expect(result).toMatchObject({ window: '24h', ...figures, regions: [{ region: 'default', ...figures }] });
    expect(result.series).toHaveLength(24);
    expect(result.series.reduce((sum, { checks }) => sum + checks, 0)).toBe(3);
  });

  test.each(['1h', '6h', '24h', '7d', '30d', '90d'])('window=%s', async (window) => {
    expect(await stats(`?window=${window}`)).toMatchObject({ window, checks: 3 });
  });

  test.each(['', '2h', '24H', '7', '%00', '24h&window=7d'])('window=%s: 400', async (window) => {
    const response = await member.get(`${DASHBOARD}/${id}/stats?window=${window}`);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({
      errors: [{ path: 'window', message: 'must be one of 1h, 6h, 24h, 7d, 30d, 90d' }],
    });
  });

  test('returns the statistics of another period', async () => {
    const [from, to] = [new Date(Date.now() - 600_000), new Date(Date.now() + 3_600_000)].map((date) =>
      date.toISOString(),
    );
    expect(await stats(`?from=${from}&to=${to}`)).toMatchObject({
      window: null,
      checks: 3,
      bucketSeconds: 60,
    });
  });

  test.each([
    ['from=2026-01-01T00:00:00Z', 'to', 'is required with from'],
    ['to=2026-01-01T00:00:00Z', 'from', 'is required with to'],
    ['from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'to', 'must be later than from'],
    ['from=2024-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'to', 'must be at most 400 days after from'],
    [
      'from=2026-01-01&to=2026-01-02T00:00:00Z',
      'from',
      expect.stringContaining('must be an ISO 8601 timestamp'),
    ],
    [
      'window=7d&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z',
      'window',
      'must not be given together with from or to',
    ],
    ['from=9000-01-01T00:00:00Z&to=9000-01-02T00:00:00Z', 'from', 'must be in the past'],
  ])('%s: 400', async (query, path, message) => {
    for (const route of ['stats', 'states']) {
      const response = await member.get(`${DASHBOARD}/${id}/${route}?${query}`);
      expect(response.status).toBe(400);
      expect(response.body).toMatchObject({ errors: [{ path, message }] });
    }
  });

  test("an unknown monitor, another account's, a malformed id: 404, before any other error", async () => {
    const { id: othersMonitorId } = await newMonitor(api, {}, api.other.key);
    for (const other of [randomUUID(), othersMonitorId, 'x']) {
      for (const query of ['', '?window=x']) {
        expect((await member.get(`${DASHBOARD}/${other}/stats${query}`)).status).toBe(404);
      }
    }
  });

  test('supports GET only, and does not exist under /api/cli', async () => {
    const response = await member.post(`${DASHBOARD}/${id}/stats`).send({});
    expect([response.status, response.headers['allow']]).toEqual([405, 'GET, HEAD']);
    expect((await api.as().get(`${MONITORS}/${id}/stats`)).status).toBe(404);
  });
});

test('GET /api/dashboard/monitors/:id/states returns when the monitor had which status', async () => {
  const response = await member.get(`${DASHBOARD}/${id}/states?window=1h`);
  expect(response.status).toBe(200);
  const { states } = response.body as { states: MonitorStates };
  expect(states.incidents).toBe(1);
  expect(states.periods[0]).toMatchObject({ status: null, from: states.from });
  expect(states.periods.at(-1)).toMatchObject({ status: 'DOWN', to: states.to, cause: 'HTTP_500' });
});
