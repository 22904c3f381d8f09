import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Overview, overviewSchema } from '@tocsin/contracts/monitors/overview';
import type TestAgent from 'supertest/lib/agent.js';
import { newMonitor, recordCheck } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let member: TestAgent;
beforeAll(async () => {
  api = await openTestApi();
  member = await signIn(api, { role: 'member' });
});
afterAll(() => api.close());

async function readOverview(): Promise<Overview> {
  const response = await member.get('/api/dashboard/overview');
  expect(response.status).toBe(200);
  return overviewSchema.parse(response.body);
}

async function clock(): Promise<string> {
  const { rows } = await api.database.pool.query<{ now: Date }>(
    `select date_trunc('milliseconds', clock_timestamp()) as now`,
  );
  return rows[0]?.now.toISOString() ?? '';
}

test('an account without monitors has a position', async () => {
  const before = await clock();
  const { position, monitors } = await readOverview();
  expect(monitors).toEqual([]);
  expect(position >= before).toBe(true);
  expect(position <= (await clock())).toBe(true);
});

test('has every monitor of the account, newest first, with its open incident', async () => {
  const fields = { labels: { app: 'shop' }, externalId: 'shop', source: 'prod' };
  const down = await newMonitor(api, { name: 'Down', ...fields });
  const up = await newMonitor(api, { name: 'Up', interval: 30 });
  await newMonitor(api, {}, api.other.key);
  await recordCheck(api, up.id);
  await recordCheck(api, down.id, true);
  await api.database.pool.query(
    `insert into monitor_regions (monitor_id, region, certificate_expires_at) values
       ($1, 'a', '2031-01-01T00:00:00Z'), ($1, 'b', '2030-01-01T00:00:00Z'), ($1, 'c', null)`,
    [down.id],
  );
  const { monitors } = await readOverview();
  expect(monitors.map(({ name }) => name)).toEqual(['Up', 'Down']);
  for (const shown of monitors) {
    const { body } = await member.get(`/api/dashboard/monitors/${shown.id}`);
    const { certificateExpiresAt: _, incident: __, ...listed } = shown;
    expect((body as { monitor: unknown }).monitor).toMatchObject(listed);
  }
  const { body } = await member.get('/api/dashboard/incidents');
  const [incident] = (body as { incidents: { id: string; openedAt: string }[] }).incidents;
  expect(monitors[1]).toMatchObject({
    ...fields,
    status: 'DOWN',
    certificateExpiresAt: '2030-01-01T00:00:00.000Z',
    incident: {
      id: incident?.id,
      openedAt: incident?.openedAt,
      acknowledgedAt: null,
      acknowledgedBy: null,
    },
  });
  expect(monitors[0]).toMatchObject({ status: 'UP', certificateExpiresAt: null, incident: null });
});

test('a resolved incident is not shown', async () => {
  const { id } = await newMonitor(api);
  await recordCheck(api, id, true);
  await recordCheck(api, id);
  const { monitors } = await readOverview();
  expect(monitors.find((one) => one.id === id)).toMatchObject({
    status: 'UP',
    incident: null,
    errorDetail: null,
  });
});
