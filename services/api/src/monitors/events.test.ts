import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Event } from '@tocsin/contracts/monitors/events';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { checkOf } from '@tocsin/db/testing/check-record';
import { until } from '@tocsin/embedded/testing/until';
import type { Response } from 'supertest';
import { MONITORS, newMonitor, recordCheck, recordResponse, RESPONSE_AT } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';

const api = await useTestApi();
const { id } = await newMonitor(api);
for (let latencyMs = 0; latencyMs < 60; latencyMs += 1)
  await recordChecks(api.context.db, [checkOf(id, { latencyMs })]);
/** With latencies from 0 to 59, oldest first. */
const all = await events('?limit=500');

async function events(query: string, monitorId = id): Promise<Event[]> {
  const response = await api.as().get(`${MONITORS}/${monitorId}/events${query}`);
  if (response.status !== 200) throw new Error(response.text);
  return (response.body as { events: Event[] }).events;
}

const latencies = (list: readonly Event[]): number[] => list.map(({ latency }) => latency);
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

test('a monitor is returned with its 10 latest events, newest first', async () => {
  const { body } = await api.as().get(`${MONITORS}/${id}`);
  expect(body).toMatchObject({ monitor: { id, status: 'UP', lastCheckedAt: all.at(-1)?.timestamp } });
  expect(latencies((body as { events: Event[] }).events)).toEqual(range(50, 60).toReversed());
});

describe('GET …/events', () => {
  test('returns the latest 50 in chronological order, or as many as the limit', async () => {
    expect(latencies(await events(''))).toEqual(range(10, 60));
    expect(latencies(await events('?limit=3'))).toEqual([57, 58, 59]);
  });

  test('with since returns the first ones after it', async () => {
    expect(latencies(await events(`?since=${all[20]?.timestamp}&limit=5`))).toEqual(range(21, 26));
    expect(await events(`?since=${all[59]?.timestamp}`)).toEqual([]);
    expect(latencies(await events('?since=2000-01-01T00:00:00Z'))).toEqual(range(0, 50));
    const east = new Date(Date.parse(all[20]?.timestamp ?? '') + 7_200_000).toISOString();
    expect(latencies(await events(`?since=${east.replace('Z', '%2B02:00')}&limit=1`))).toEqual([21]);
  });

  test.each<[string, string[]]>([
    ['limit=１', ['limit']],
    ['limit=1&limit=2', ['limit']],
    ['limit=%E0%A4%A', ['limit']],
    ['limit=0&since=2026-01-31', ['limit', 'since']],
    ["since=2026-01-31T12:00:00Z'--", ['since']],
  ])('?%s: 400', async (query, paths) => {
    const response = await api.as().get(`${MONITORS}/${id}/events?${query}`);
    const { errors } = response.body as { errors: { path: string }[] };
    expect([response.status, errors.map(({ path }) => path)]).toEqual([400, paths]);
  });
});

describe('GET /api/cli/events', () => {
  interface Page {
    readonly events: Event[];
    readonly cursor: string;
  }
  async function tail(query: string, key?: string): Promise<Page> {
    const { status, body, text } = await api.as(key).get(`/api/cli/events${query}`);
    if (status !== 200) throw new Error(text);
    return body as Page;
  }

  test('tails the account from now on, and continues with each cursor', async () => {
    const [one, two] = [await newMonitor(api), await newMonitor(api)];
    await recordCheck(api, one.id);
    const begin = await tail('');
    await until('the next millisecond', async () => (await tail('')).cursor !== begin.cursor);
    let { cursor, events: seen } = await tail('', api.account.readKey);
    expect(seen).toEqual([]);
    const ids: string[] = [];
    for (const monitor of [one, two, two]) ids.push(await recordCheck(api, monitor.id));
    await until('three events', async () => {
      const page = await tail(`?limit=2&since=${cursor}`);
      expect(page.events.length).toBeLessThanOrEqual(2);
      seen = [...seen, ...page.events];
      ({ cursor } = page);
      return seen.length >= 3;
    });
    expect(seen.map((event) => event.id)).toEqual(ids);
    expect(seen.slice(0, 1)).toEqual(await events('?limit=1', one.id));
    expect((await tail(`?since=${cursor}`, api.other.key)).events).toEqual([]);
  });

  test.each([
    ['since=2026-01-31T12:00:00Z', 'since'],
    ['since=a&since=b', 'since'],
    ['limit=0', 'limit'],
  ])('?%s: 400', async (query, path) => {
    const { status, body } = await api.as().get(`/api/cli/events?${query}`);
    expect([status, body]).toMatchObject([400, { errors: [{ path }] }]);
  });
});

describe('GET …/events/:timestamp/response', () => {
  const BODY = 's3cret of the target';
  let failed: string;
  beforeAll(async () => {
    ({ id: failed } = await newMonitor(api));
    await recordResponse(api, failed, BODY);
  });

  const pathOf = (timestamp: string, monitorId = failed): string =>
    `${MONITORS}/${monitorId}/events/${encodeURIComponent(timestamp)}/response`;
  const get = (timestamp: string, monitorId?: string): Promise<Response> =>
    api.as().get(pathOf(timestamp, monitorId));

  test('returns the response to a failed check, to keys with the scope write and to users', async () => {
    const member = await signIn(api, { role: 'member' });
    const kept = { statusCode: 500, headers: { 'content-type': 'text/plain' }, body: BODY };
    for (const response of [
      await get(RESPONSE_AT),
      await get(RESPONSE_AT.replace('Z', '+00:00')),
      await member.get(pathOf(RESPONSE_AT).replace('/cli/', '/dashboard/')),
    ]) {
      expect([response.status, response.body]).toEqual([200, { response: kept }]);
      expect(response.headers['cache-control']).toBe('no-store, no-transform');
    }
    expect(await events('', failed)).toMatchObject([{ hasResponse: true }]);
  });

  test('finds none for other times, for passing checks and for a deleted monitor: 404', async () => {
    const { id: deleted } = await newMonitor(api);
    await recordResponse(api, deleted, BODY);
    await api.as().delete(`${MONITORS}/${deleted}`);
    for (const [timestamp, monitorId] of [
      ['2020-01-01T00:00:00.000Z', failed],
      [all[0]?.timestamp ?? '', id],
      ['yesterday', failed],
      ['%', failed],
      [RESPONSE_AT, deleted],
    ] as const)
      expect([timestamp, (await get(timestamp, monitorId)).status]).toEqual([timestamp, 404]);
  });
});
