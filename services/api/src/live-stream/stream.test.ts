import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { type DigestedMonitor, digestOf } from '@tocsin/contracts/live-stream/digest';
import { statusChangeSchema } from '@tocsin/contracts/monitors/events';
import { type Overview, overviewSchema } from '@tocsin/contracts/monitors/overview';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import type { LateRegions } from '@tocsin/db/regions/late-regions';
import { until } from '@tocsin/embedded/testing/until';
import { beginMaintenance } from '../testing/maintenance.ts';
import { newMonitor, recordCheck } from '../testing/monitors.ts';
import { newSignedInUser, type TestUser } from '../testing/sign-in.ts';
import { type Received, STREAM, StreamReader } from '../testing/stream-reader.ts';
import { openTestApi, type TestApi, useTestApi } from '../testing/test-api.ts';

const readers: StreamReader[] = [];
const lateRegions = jest.fn(async (): Promise<LateRegions | null> => new Map());
const api = await useTestApi({ streamLimits: { heartbeatMs: 50 }, lateRegions });
const user = await newSignedInUser(api, { role: 'member' });
afterEach(() => Promise.all(readers.splice(0).map((reader) => reader.close())));

async function open(position?: string, { cookie } = user, of: TestApi = api): Promise<StreamReader> {
  const reader = await StreamReader.open(of, { cookie, position });
  readers.push(reader);
  return reader;
}

/** Inserts an event of the monitor $1 with this timestamp. */
const insertEvent = (timestamp: string): string =>
  `with stamped as (update monitors set last_timestamp = ${timestamp} where id = $1 returning id, last_timestamp)
   insert into events (monitor_id, timestamp, id, status, latency_ms, region, source)
   select id, last_timestamp, gen_random_uuid(), 'UP', 1, 'default', 'schedule' from stamped returning id`;

describe('a stream', () => {
  test('has the headers of an event stream', async () => {
    const reader = await open();
    expect(Object.fromEntries(reader.response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    // Every fetch accepts compression, which would delay messages.
    expect(reader.response.headers.has('content-encoding')).toBe(false);
    const head = await user.agent.head(STREAM);
    expect([head.status, head.headers['content-type']]).toEqual([200, 'text/event-stream']);
  });

  test('sends only events and status changes of its account, once and in order', async () => {
    const [monitor, othersMonitor] = [await newMonitor(api), await newMonitor(api, {}, api.other.key)];
    const otherUser = await newSignedInUser(api, { accountId: api.other.id });
    const [mine, theirs] = [await open(), await open(undefined, otherUser)];
    const ids = [
      await recordCheck(api, monitor.id),
      await recordCheck(api, monitor.id, true),
      await recordCheck(api, monitor.id),
    ];
    await theirs.sees(await recordCheck(api, othersMonitor.id));
    await mine.sees(ids[2]);
    const late = await recordCheck(api, monitor.id);
    await mine.sees(late);
    // A heartbeat may come between them.
    const records = ({ received }: StreamReader): Received[] =>
      received.filter(({ event }) => event === 'check' || event === 'status-change');
    expect(records(mine).map(({ event, data }) => (event === 'check' ? data['id'] : data['status']))).toEqual(
      [ids[0], 'UP', ids[1], 'DOWN', ids[2], 'UP', late],
    );
    const { body } = await user.agent.get(`/api/dashboard/monitors/${monitor.id}/events`);
    const checks = mine.received.filter(({ event }) => event === 'check').map(({ data }) => data);
    expect(checks).toEqual((body as { events: unknown }).events);
    const changes = mine.received.filter(({ event }) => event === 'status-change');
    expect(changes.map(({ data }) => statusChangeSchema.parse(data))[1]).toMatchObject({
      monitorId: monitor.id,
      previousStatus: 'UP',
      errorReason: 'HTTP_500',
    });
    const theirIds = records(theirs).map(({ data }) => data['monitorId']);
    expect(theirIds).toEqual([othersMonitor.id, othersMonitor.id]);
  });

  test('includes monitors that are created, renamed and deleted while it is open', async () => {
    const reader = await open();
    const monitor = await newMonitor(api, { name: 'Before' });
    await reader.sees(await recordCheck(api, monitor.id));
    await api.as().put(`/api/cli/monitors/${monitor.id}`).send({ name: 'After' });
    const renamed = await recordCheck(api, monitor.id);
    await reader.sees(renamed);
    expect(reader.received.at(-1)?.data['monitorName']).toBe('After');
    await deleteMonitor(api.context.db, systemActor(api.account.id), monitor.id);
    const other = await newMonitor(api);
    await reader.sees(await recordCheck(api, other.id));
  });

  test('sends the beginning of maintenance', async () => {
    const monitor = await newMonitor(api);
    const reader = await open();
    await beginMaintenance(api, user.agent, monitor.id);
    await until('something comes', () => reader.received.length > 0);
    expect(reader.received.map(({ event, data }) => [event, data['previousStatus'], data['status']])).toEqual(
      [['status-change', 'PENDING', 'MAINTENANCE']],
    );
  });

  test('sends records that are committed after a record with a later timestamp', async () => {
    const [slow, quick] = [await newMonitor(api), await newMonitor(api)];
    const reader = await open();
    const client = await api.database.pool.connect();
    try {
      // On a slow machine the transaction may be idle for longer than the usual limit.
      await client.query('set idle_in_transaction_session_timeout = 0');
      await client.query('begin');
      const { rows } = await client.query<{ id: string }>(
        insertEvent(`date_trunc('milliseconds', clock_timestamp())`),
        [slow.id],
      );
      await reader.sees(await recordCheck(api, quick.id));
      const { heartbeats } = reader;
      await until('three heartbeats', () => reader.heartbeats > heartbeats + 2);
      expect(reader.received.map(({ data }) => data['monitorId'])).not.toContain(slow.id);
      await client.query('commit');
      await reader.sees(rows[0]?.id);
    } finally {
      client.release();
    }
  });
});

test('sends records that are committed a minute after their timestamp', async () => {
  const monitor = await newMonitor(api);
  const reader = await open();
  const { rows } = await api.database.pool.query<{ id: string }>(
    insertEvent(`clock_timestamp() - interval '1 minute'`),
    [monitor.id],
  );
  await reader.sees(rows[0]?.id);
});

test.each(['', 'yesterday', '2026-02-30T00:00:00Z'])('the position %j is invalid: 400', async (position) => {
  const header = await user.agent.get(STREAM).set('Last-Event-ID', position);
  const query = await user.agent.get(STREAM).query({ lastEventId: position });
  expect([header.status, query.status]).toEqual([400, 400]);
});

test('tells that a region is late when the first stream opens, after this was unknown, and that it is in time again', async () => {
  const late = new Map([['eu', { since: 0, lateMs: 21_000 }]]);
  lateRegions.mockResolvedValue(late);
  const reader = await open(undefined, await newSignedInUser(api, { accountId: api.other.id }));
  const times = (): number => reader.received.filter(({ event }) => event === 'regions').length;
  await until('the first message', () => times() === 1);
  const unknown = lateRegions.mockClear().mockResolvedValue(null);
  // A second query begins only after the first one has ended.
  await until('two queries', () => unknown.mock.calls.length > 1);
  lateRegions.mockResolvedValue(late);
  await until('the second message', () => times() === 2);
  lateRegions.mockResolvedValue(new Map());
  await until('the third message', () => times() === 3);
});

test('heartbeats advance the position while nothing happens', async () => {
  const reader = await open();
  const { lastEventId } = reader;
  await until(
    'heartbeats with a later position',
    () => reader.heartbeats > 2 && reader.lastEventId > lastEventId,
  );
  expect(reader.received).toEqual([]);
});

describe('a digest', () => {
  let digesting: TestApi;
  let viewer: TestUser;
  beforeAll(async () => {
    // Every query sends a digest, and many records need several pages.
    digesting = await openTestApi({ streamLimits: { pollMs: 20, compareAllEvery: 0, pageRecords: 4 } });
    viewer = await newSignedInUser(digesting);
  });
  afterAll(() => digesting.close());

  async function readOverview(): Promise<Overview> {
    return overviewSchema.parse((await viewer.agent.get('/api/dashboard/overview')).body);
  }

  const digests = ({ received }: StreamReader): Received[] =>
    received.filter(({ event }) => event === 'digest');

  /** Applies messages to a list as a client does. @returns how many digests it could compare, and those that differed */
  function follow({ position, monitors }: Overview, received: readonly Received[]): [number, Received[]] {
    const list = new Map(monitors.map((one): [string, DigestedMonitor] => [one.id, one]));
    let compared = 0;
    const wrong: Received[] = [];
    for (const message of received) {
      const { event, id, data } = message;
      if (event === 'digest' && id > position) {
        compared += 1;
        if (digestOf(list.values()).statuses !== data['statuses']) wrong.push(message);
      }
      if (event !== 'status-change') continue;
      const change = data as { monitorId: string; timestamp: string; status: DigestedMonitor['status'] };
      const known = list.get(change.monitorId);
      if (known === undefined || change.timestamp < known.statusSince) continue;
      list.set(known.id, { ...known, status: change.status, statusSince: change.timestamp });
    }
    return [compared, wrong];
  }

  test('always matches the list of a client that read the overview and applied the messages since', async () => {
    const monitors = await Promise.all([1, 2, 3, 4].map(() => newMonitor(digesting)));
    const followed: (readonly [Overview, StreamReader])[] = [];
    const over = new AbortController();
    const latest = (): StreamReader | undefined => followed.at(-1)?.[1];
    /** Without this, the streams could fall further and further behind. */
    async function keepUp(): Promise<void> {
      const reader = latest();
      if (reader === undefined) return;
      const { length } = digests(reader);
      await until(
        'another digest',
        () => over.signal.aborted || reader !== latest() || digests(reader).length > length,
      );
    }
    const writers = monitors.map(async ({ id }, number) => {
      for (let round = number; !over.signal.aborted; round += 1) {
        await recordCheck(digesting, id, round % 2 === 0);
        if (round % 3 === 0) await keepUp();
      }
    });
    for (let stream = 0; stream < 4; stream += 1) {
      const overview = await readOverview();
      const reader = await open(overview.position, viewer, digesting);
      followed.push([overview, reader]);
      await until('three digests', () => digests(reader).length >= 3);
    }
    over.abort();
    await Promise.all(writers);
    const results = followed.map(([overview, reader]) => follow(overview, reader.received));
    expect(results.map(([, wrong]) => wrong)).toEqual(results.map(() => []));
    expect(results.every(([compared]) => compared > 0)).toBe(true);
  });

  test('covers created, edited, deleted and maintained monitors', async () => {
    const reader = await open((await readOverview()).position, viewer, digesting);
    const { id } = await newMonitor(digesting);
    const seen = new Set<unknown>();
    const changes: (() => Promise<unknown>)[] = [
      () => recordCheck(digesting, id, true),
      async () => digesting.as().put(`/api/cli/monitors/${id}`).send({ name: 'After' }),
      () => beginMaintenance(digesting, viewer.agent, id),
      async () => digesting.as().delete(`/api/cli/monitors/${id}`),
    ];
    for (const change of changes) {
      await change();
      const digest = digestOf((await readOverview()).monitors);
      await until('the digest of the overview', () =>
        digests(reader).some(({ data }) => isDeepStrictEqual(data, digest)),
      );
      seen.add(JSON.stringify(digest));
    }
    expect(seen.size).toBe(changes.length);
  });
});
