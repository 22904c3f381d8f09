import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type supertest from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { newChannel } from '../testing/channels.ts';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const DASHBOARD = '/api/dashboard';
/** Large enough to be compressed. */
const LONG = '€'.repeat(255);

let api: TestApi;
let owner: TestAgent;
let monitorIds: string[];
beforeAll(async () => {
  api = await openTestApi();
  owner = await signIn(api);
  const monitors = Array.from({ length: 10 }, () =>
    newMonitor(api, { name: LONG, headers: { Authorization: 'Bearer 1234' } }),
  );
  monitorIds = (await Promise.all(monitors)).map(({ id }) => id);
  await newMonitor(api, { name: LONG, externalId: 'long' });
});
afterAll(() => api.close());

async function receive(request: supertest.Test): Promise<supertest.Response> {
  const response = await request.set('Accept-Encoding', 'gzip');
  expect([200, 201]).toContain(response.status);
  return response;
}

test.each(['/monitors', `/channels`])('%s is compressed and complete', async (path) => {
  await newChannel(owner, { name: LONG, allMonitors: false, monitorIds });
  const response = await receive(owner.get(DASHBOARD + path));
  expect(response.headers).toMatchObject({
    'content-encoding': 'gzip',
    'cache-control': 'no-store',
    vary: expect.stringContaining('Accept-Encoding'),
  });
  const plain = await owner.get(DASHBOARD + path).set('Accept-Encoding', 'identity');
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(response.body).toEqual(plain.body);
});

test.each([
  ['the list of monitors', () => api.as().get(MONITORS)],
  ['a monitor by its externalId', () => api.as().get(`${MONITORS}/by-external-id/long`)],
  ['a monitor with hidden values', () => api.as(api.account.readKey).get(`${MONITORS}/${monitorIds[0]}`)],
])('for a key, %s is compressed', async (_what, request) => {
  const response = await request().set('Accept-Encoding', 'gzip');
  expect(response.headers).toMatchObject({ 'content-encoding': 'gzip', 'cache-control': 'no-store' });
});

test('responses with a secret are never compressed', async () => {
  const { channel } = await newChannel(owner, { name: 'Short', allMonitors: false, monitorIds: [] });
  const channelBody = { name: LONG, url: 'https://hooks.invalid/a', monitorIds };
  const requests: [request: supertest.Test, secret: string][] = [
    [owner.post(`${DASHBOARD}/channels`).send(channelBody), 'whsec_'],
    [owner.post(`${DASHBOARD}/channels/${channel.id}/rotate-secret`).send({}), 'whsec_'],
    [owner.get(`${DASHBOARD}/channels/${channel.id}/secret`), 'whsec_'],
    [owner.post(`${DASHBOARD}/api-keys`).send({ name: LONG }), 'tocsin_live_'],
    [owner.post(`${DASHBOARD}/invitations`).send({ role: 'member' }), 'token='],
    [owner.get(`${DASHBOARD}/monitors/${monitorIds[0]}`), 'Bearer 1234'],
    [api.as().get(`${MONITORS}/${monitorIds[0]}`), 'Bearer 1234'],
  ];
  for (const [request, secret] of requests) {
    const response = await receive(request);
    expect(response.text).toContain(secret);
    expect([request.url, response.headers['content-encoding']]).toEqual([request.url, undefined]);
    expect(response.headers['cache-control']).toBe('no-store, no-transform');
  }
});
