import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AvailabilityReport } from '@tocsin/contracts/reports/availability';
import type TestAgent from 'supertest/lib/agent.js';
import { goDown } from '../testing/channels.ts';
import { newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const AVAILABILITY = '/api/dashboard/reports/availability';
const HOUR_MS = 3_600_000;

let api: TestApi;
let member: TestAgent;
beforeAll(async () => {
  api = await openTestApi();
  member = await signIn(api, { role: 'member' });
});
afterAll(() => api.close());

const at = (hours: number): string => new Date(Date.now() + hours * HOUR_MS).toISOString();

async function report(query: object = {}, user = member): Promise<AvailabilityReport> {
  const response = await user.get(AVAILABILITY).query({ from: at(-24), to: at(24), ...query });
  if (response.status !== 200) throw new Error(JSON.stringify(response.body));
  return (response.body as { report: AvailabilityReport }).report;
}

test('reports the monitors of the account, and groups of them', async () => {
  const shop = await newMonitor(api, { name: 'Shop', labels: { app: 'shop', monitor: 'a' } });
  const blog = await newMonitor(api, { name: 'Blog', labels: { app: 'blog' } });
  await goDown(api, shop.id);
  expect(await report()).toMatchObject({
    groupBy: 'monitor',
    maintenance: 'excluded',
    rows: [
      { monitorId: blog.id, name: 'Blog', uptime: null, measured: 0, incidents: 0 },
      { monitorId: shop.id, name: 'Shop', incidents: 1, checks: 1, failures: 1, passRate: 0 },
    ],
    total: { monitors: 2, incidents: 1 },
  });
  expect(
    await report({ groupBy: 'app', selector: 'app in (shop,blog),monitor', maintenance: 'included' }),
  ).toMatchObject({
    groupBy: 'app',
    maintenance: 'included',
    rows: [{ monitorId: null, name: 'shop', monitors: 1 }],
  });
  const otherUser = await signIn(api, { accountId: api.other.id });
  expect(await report({}, otherUser)).toMatchObject({ rows: [], total: { monitors: 0 } });
});

test('many reports of an account and those of another one are made', async () => {
  const other = await signIn(api, { accountId: api.other.id });
  const [mine, others] = await Promise.all([
    Promise.all(Array.from({ length: 20 }, () => report())),
    Promise.all(Array.from({ length: 20 }, () => report({}, other))),
  ]);
  expect(new Set(mine.map(({ total }) => total.monitors))).toEqual(new Set([2]));
  expect(new Set(others.map(({ total }) => total.monitors))).toEqual(new Set([0]));
});

test('refuses an invalid period', async () => {
  const { status, body } = await member.get(AVAILABILITY).query({ from: '2026-11-01', to: at(24) });
  expect([status, body]).toMatchObject([400, { errors: [{ path: 'from' }] }]);
});
