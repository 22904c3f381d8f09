import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Incident, incidentSchema } from '@tocsin/contracts/incidents/incident';
import type TestAgent from 'supertest/lib/agent.js';
import { goDown } from '../testing/channels.ts';
import { newMonitor } from '../testing/monitors.ts';
import { checkOnce } from '../testing/schedules.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const INCIDENTS = '/api/dashboard/incidents';
const UNKNOWN = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
let api: TestApi;
let member: TestAgent;
let otherUser: TestAgent;
beforeAll(async () => {
  api = await openTestApi();
  member = await signIn(api, { role: 'member' });
  otherUser = await signIn(api, { accountId: api.other.id });
});
afterAll(() => api.close());

async function list(query: object = {}, user = member): Promise<Incident[]> {
  const response = await user.get(INCIDENTS).query(query);
  if (response.status !== 200) throw new Error(JSON.stringify(response.body));
  return (response.body as { incidents: Incident[] }).incidents;
}

test('open and resolved incidents are listed, newest first', async () => {
  const [past, open] = [await newMonitor(api, { name: 'Past' }), await newMonitor(api, { name: 'Open' })];
  await goDown(api, past.id);
  await checkOnce(api, past.id);
  await goDown(api, open.id);
  const all = await list();
  expect(all.map((incident) => incidentSchema.parse(incident))).toMatchObject([
    { monitorId: open.id, monitorName: 'Open', resolvedAt: null, cause: 'HTTP_500', region: 'default' },
    { monitorId: past.id, monitorName: 'Past', resolvedAt: expect.any(String) },
  ]);
  expect(await list({ state: 'open' })).toMatchObject([{ monitorId: open.id }]);
  expect(await list({ state: 'resolved' })).toEqual([all[1]]);
  expect(await list({ monitorId: past.id })).toEqual([all[1]]);
  expect(await list({ limit: 1, before: all[0]?.id })).toEqual([all[1]]);
  expect((await member.get(`${INCIDENTS}/${all[1]?.id}`)).body).toEqual({ incident: all[1] });
  expect(await list({}, otherUser)).toEqual([]);
  for (const [user, id] of [
    [otherUser, all[0]?.id],
    [member, UNKNOWN],
    [member, 'nonsense'],
  ] as const) {
    expect((await user.get(`${INCIDENTS}/${id}`)).status).toBe(404);
  }
});

describe('an invalid query', () => {
  test.each([
    ['state', 'closed'],
    ['monitorId', 'x'],
    ['limit', '-1'],
    ['before', 'x'],
    ['before', UNKNOWN],
  ])('%s=%s', async (field, value) => {
    const response = await member.get(INCIDENTS).query({ [field]: value });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ errors: [{ path: field }] });
  });
});

test('incidents cannot be written', async () => {
  const response = await member.post(INCIDENTS).send({});
  expect([response.status, response.headers['allow']]).toEqual([405, 'GET, HEAD']);
});
