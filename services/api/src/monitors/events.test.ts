import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Event, eventSchema } from '@tocsin/contracts/monitors/events';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { checkOf, MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let id: string;
let all: Event[];
beforeAll(async () => {
  api = await openTestApi();
  ({ id } = await newMonitor(api, { runbookUrl: 'https://runbooks.example/shop' }));
  for (let index = 0; index < 60; index += 1) {
    await recordChecks(api.context.db, [checkOf(id, { latencyMs: index })]);
  }
  all = await events('?limit=500');
});
afterAll(() => api.close());

async function events(query: string): Promise<Event[]> {
  const response = await api.as().get(`${MONITORS}/${id}/events${query}`);
  if (response.status !== 200) throw new Error(JSON.stringify(response.body));
  return (response.body as { events: Event[] }).events;
}

const latencies = (list: readonly Event[]): number[] => list.map(({ latency }) => latency);
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

describe('get a monitor', () => {
  test('returns its 10 latest events, newest first', async () => {
    const response = await api.as().get(`${MONITORS}/${id}`);
    expect(Object.keys(response.body as object)).toEqual(['monitor', 'events']);
    expect(response.body).toMatchObject({
      monitor: { id, status: 'UP', lastCheckedAt: all.at(-1)?.timestamp },
    });
    expect(latencies((response.body as { events: Event[] }).events)).toEqual(range(50, 60).toReversed());
  });
});

describe('list events', () => {
  test('returns the complete record of an event', () => {
    expect(eventSchema.parse(all[0])).toEqual({
      id: expect.any(String),
      monitorId: id,
      monitorName: 'Shop',
      status: 'UP',
      latency: 0,
      statusCode: 200,
      errorReason: null,
      errorDetail: null,
      inconclusive: false,
      hasResponse: false,
      region: 'default',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      source: 'schedule',
      url: null,
      timings: { dns: 1, tcp: 2, tls: 3, firstByte: 4, download: 2 },
      runbookUrl: 'https://runbooks.example/shop',
    });
  });

  test('without a query: the latest 50, in chronological order', async () => {
    expect(latencies(await events(''))).toEqual(range(10, 60));
  });

  test('timestamps strictly increase', () => {
    const timestamps = all.map(({ timestamp }) => timestamp);
    expect(timestamps).toEqual([...new Set(timestamps)].toSorted());
  });

  test('limit: the latest ones; above 500 it is capped', async () => {
    expect(latencies(await events('?limit=3'))).toEqual([57, 58, 59]);
    expect(latencies(await events('?limit=1'))).toEqual([59]);
    const { id: busy } = await newMonitor(api);
    await api.database.pool.query(
      `insert into events (monitor_id, timestamp, id, status, latency_ms, region, source)
       select $1, date_trunc('milliseconds', now()) - n * interval '1 second', gen_random_uuid(), 'UP', n, 'default', 'schedule'
       from generate_series(1, 510) n`,
      [busy],
    );
    for (const [limit, count] of [
      ['500', 500],
      ['501', 500],
      ['999999', 500],
      ['499', 499],
    ] as const) {
      const response = await api.as().get(`${MONITORS}/${busy}/events?limit=${limit}`);
      expect((response.body as { events: Event[] }).events).toHaveLength(count);
    }
  });

  test.each(['0', '-1', '1.5', 'ten', '', '1e2', ' 5', '0x10', '%00', '9999999999999999', '５'])(
    'limit=%s: 400',
    async (limit) => {
      const response = await api.as().get(`${MONITORS}/${id}/events?limit=${encodeURI(limit)}`);
      expect(response.status).toBe(400);
      expect(response.body).toMatchObject({
        errors: [{ path: 'limit', message: 'must be an integer of at least 1' }],
      });
    },
  );

  test('since: exclusive, the first ones after it', async () => {
    expect(latencies(await events(`?since=${all[20]?.timestamp}&limit=5`))).toEqual(range(21, 26));
    expect(latencies(await events(`?since=${all[58]?.timestamp}`))).toEqual([59]);
    expect(await events(`?since=${all[59]?.timestamp}`)).toEqual([]);
    expect(latencies(await events('?since=2000-01-01T00:00:00Z'))).toEqual(range(0, 50));
    expect(await events('?since=2999-01-01T00:00:00Z')).toEqual([]);
  });

  test('since: any offset; digits beyond milliseconds are cut off', async () => {
    const at = all[20]?.timestamp ?? '';
    const east = new Date(Date.parse(at) + 7_200_000).toISOString().replace('Z', '%2B02:00');
    for (const since of [east, at.replace('Z', '999Z'), at.toLowerCase(), at.replace('.', ',')]) {
      expect(latencies(await events(`?since=${since}&limit=1`))).toEqual([21]);
    }
  });

  test.each([
    'yesterday',
    '',
    '2026-01-31',
    '2026-01-31T12:00:00',
    '2026-02-30T12:00:00Z',
    '2026-01-31T25:00:00Z',
    '1700000000',
    '2026-01-31T12:00:00 02:00',
    '2026-01-31T12:00:00Z%00',
    "2026-01-31T12:00:00Z'--",
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59-23:59',
  ])('since=%s: 400', async (since) => {
    const response = await api.as().get(`${MONITORS}/${id}/events?since=${since}`);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({
      errors: [{ path: 'since', message: expect.stringContaining('ISO 8601') }],
    });
  });

  test('a duplicate parameter: 400; two invalid parameters: both are reported', async () => {
    for (const query of ['?limit=1&limit=2', '?since=2026-01-31T12:00:00Z&since=2026-01-31T12:00:00Z']) {
      expect((await api.as().get(`${MONITORS}/${id}/events${query}`)).status).toBe(400);
    }
    const response = await api.as().get(`${MONITORS}/${id}/events?limit=0&since=x`);
    expect(response.body).toMatchObject({ errors: [{ path: 'limit' }, { path: 'since' }] });
  });

  test('broken percent-encoding in the query is no server error', async () => {
    expect((await api.as().get(`${MONITORS}/${id}/events?limit=%E0%A4%A`)).status).toBe(400);
    expect((await api.as().get(`${MONITORS}/${id}/events?%zz=%`)).status).toBe(200);
  });
});

describe('tailing with since', () => {
  test('misses and repeats nothing while four writers are active', async () => {
    const { id: tailed } = await newMonitor(api, { regions: ['a', 'b', 'c', 'd'] });
    const written: number[] = [];
    let writing = true;
    const writers = ['a', 'b', 'c', 'd'].map(async (region, lane) => {
      for (let index = 0; index < 20; index += 1) {
        const latencyMs = lane * 1_000 + index;
        let recorded = false;
        while (!recorded) {
          const [outcome] = await recordChecks(api.context.db, [checkOf(tailed, { region, latencyMs })]);
          recorded = outcome?.kind === 'recorded';
        }
        written.push(latencyMs);
      }
    });
    const done = Promise.all(writers).finally(() => (writing = false));
    const read: Event[] = [];
    let since = '2000-01-01T00:00:00Z';
    for (let last = false; !last;) {
      last = !writing;
      let page: Event[];
      do {
        const response = await api.as().get(`${MONITORS}/${tailed}/events?limit=7&since=${since}`);
        page = (response.body as { events: Event[] }).events;
        read.push(...page);
        since = page.at(-1)?.timestamp ?? since;
      } while (page.length > 0);
    }
    await done;
    expect(latencies(read)).toHaveLength(80);
    expect(latencies(read).toSorted((one, other) => one - other)).toEqual(
      written.toSorted((one, other) => one - other),
    );
    const timestamps = read.map(({ timestamp }) => timestamp);
    expect(timestamps).toEqual([...new Set(timestamps)].toSorted());
  });
});
