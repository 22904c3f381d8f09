import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Event } from '@tocsin/contracts/monitors/events';
import type TestAgent from 'supertest/lib/agent.js';
import { MONITORS, newMonitor, recordCheck, recordResponse, RESPONSE_AT } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const BODY = 's3cret of the target';

let api: TestApi;
let reader: TestAgent;
let member: TestAgent;
let id: string;
beforeAll(async () => {
  api = await openTestApi();
  reader = api.as(api.account.readKey);
  member = await signIn(api, { role: 'member' });
  ({ id } = await newMonitor(api));
  await recordResponse(api, id, BODY);
});
afterAll(() => api.close());

const pathOf = (timestamp: string, monitorId = id): string =>
  `${MONITORS}/${monitorId}/events/${encodeURIComponent(timestamp)}/response`;

describe('the response to a failed check', () => {
  test('is returned to keys with the scope write, and to signed-in users', async () => {
    const kept = { statusCode: 500, headers: { 'content-type': 'text/plain' }, body: BODY };
    for (const response of [
      await api.as().get(pathOf(RESPONSE_AT)),
      await member.get(pathOf(RESPONSE_AT).replace('/cli/', '/dashboard/')),
    ]) {
      expect([response.status, response.body]).toEqual([200, { response: kept }]);
      expect(response.headers['cache-control']).toBe('no-store, no-transform');
    }
  });

  test('is found by another form of the same timestamp', async () => {
    const local = RESPONSE_AT.replace('Z', '+00:00');
    expect((await api.as().get(pathOf(local))).status).toBe(200);
  });

  test('is refused to a key that may only read, whether or not there is one', async () => {
    for (const timestamp of [RESPONSE_AT, '2020-01-01T00:00:00.000Z']) {
      const response = await reader.get(pathOf(timestamp));
      expect(response.status).toBe(403);
      expect(response.body).toMatchObject({ detail: 'This requires an API key with the scope write.' });
      expect(response.text).not.toContain('s3cret');
    }
  });

  test.each([
    ['no event', '2020-01-01T00:00:00.000Z', 'No response was kept of a check at this time.'],
    ['no timestamp', 'yesterday', 'There is no resource with this timestamp.'],
    ['an odd timestamp', '%', 'There is no resource with this timestamp.'],
  ])('is not found: %s', async (_name, timestamp, detail) => {
    const response = await api.as().get(pathOf(timestamp));
    expect([response.status, response.body]).toEqual([404, expect.objectContaining({ detail })]);
  });

  test('is not found for another account, an unknown monitor, and an event that kept none', async () => {
    const other = await api.as(api.other.key).get(pathOf(RESPONSE_AT));
    const unknown = await api.as().get(pathOf(RESPONSE_AT, '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c'));
    expect([other.status, unknown.status]).toEqual([404, 404]);
    expect(other.text).not.toContain('s3cret');
    const passing = await newMonitor(api);
    await recordCheck(api, passing.id);
    const { body } = await api.as().get(`${MONITORS}/${passing.id}/events`);
    const [event] = (body as { events: Event[] }).events;
    expect(event?.hasResponse).toBe(false);
    expect((await api.as().get(pathOf(event?.timestamp ?? '', passing.id))).status).toBe(404);
  });

  test('is mentioned by events, and is part of no other response', async () => {
    const since = Buffer.from(`${Date.parse(RESPONSE_AT) - 1} `).toString('base64url');
    const texts = await Promise.all(
      [
        MONITORS,
        `${MONITORS}/${id}`,
        `${MONITORS}/${id}/events`,
        `/api/cli/events?since=${since}`,
        '/api/cli/audit-log',
      ].map(async (path) => (await api.as().get(path)).text),
    );
    texts.push((await member.get('/api/dashboard/incidents')).text);
    const all = texts.join('\n');
    expect(all.match(/"hasResponse":true/g)).toHaveLength(3);
    expect(all).not.toContain('s3cret');
    expect(all).not.toContain('v1.');
  });

  test('is deleted with its monitor', async () => {
    const { id: deleted } = await newMonitor(api);
    await recordResponse(api, deleted, BODY);
    await api.as().delete(`${MONITORS}/${deleted}`);
    expect((await api.as().get(pathOf(RESPONSE_AT, deleted))).status).toBe(404);
  });
});
