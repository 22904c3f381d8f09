import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AvailabilityReport, availabilityReportSchema } from '@tocsin/contracts/reports/availability';
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
  return availabilityReportSchema.parse((response.body as { report: unknown }).report);
}

test('reports the monitors of the account, and groups of them', async () => {
  const shop = await newMonitor(api, { name: 'Shop', labels: { app: 'shop', monitor: 'a' } });
  const blog = await newMonitor(api, { name: 'Blog', labels: { app: 'blog' } });
  await goDown(api, shop.id);
  expect(await report()).toMatchObject({
    groupBy: 'monitor',
    maintenance: 'excluded',
    rows: [
      { monitorId: blog.id, name: 'Blog', availability: null, coverage: 0, incidents: 0 },
      { monitorId: shop.id, name: 'Shop', incidents: 1, checks: 1, failures: 1, uptime: 0 },
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

test('several reports are made one after another', async () => {
  const all = await Promise.all([report(), report({ groupBy: 'app' }), report({ selector: 'app' })]);
  expect(all.map(({ total }) => total.monitors)).toEqual([2, 2, 2]);
});

test.each<[string, object, string]>([
  ['no from', { from: undefined }, 'from'],
  ['a day without time', { from: '2026-11-01' }, 'from'],
  ['a from in the future', { from: at(1) }, 'from'],
  ['a from too long ago', { from: '2020-01-01T00:00:00Z' }, 'from'],
  ['a to that is not after from', { to: at(-25) }, 'to'],
  ['an invalid label', { groupBy: 'no key!' }, 'groupBy'],
  ['an invalid selector', { selector: 'app=(' }, 'selector'],
  ['an unknown mode', { maintenance: 'maybe' }, 'maintenance'],
])('%s: 400', async (_name, query, path) => {
  const response = await member.get(AVAILABILITY).query({ from: at(-24), to: at(24), ...query });
  expect(response.status).toBe(400);
  expect(response.body).toMatchObject({ errors: [{ path, message: expect.any(String) }] });
});
