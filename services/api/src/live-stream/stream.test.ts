import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eventSchema, statusChangeSchema } from '@tocsin/contracts/monitors/events';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { until } from '@tocsin/embedded/testing/until';
import { beginMaintenance } from '../testing/maintenance.ts';
import { newMonitor, recordCheck } from '../testing/monitors.ts';
import { newSignedInUser, type TestUser } from '../testing/sign-in.ts';
import { STREAM, StreamReader } from '../testing/stream-reader.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let user: TestUser;
const readers: StreamReader[] = [];
beforeAll(async () => {
  api = await openTestApi({ streamLimits: { heartbeatMs: 50 } });
  user = await newSignedInUser(api, { role: 'member' });
});
afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.close()));
});
afterAll(() => api.close());

async function open(position?: string, cookie: string = user.cookie): Promise<StreamReader> {
  const reader = await StreamReader.open(api, { cookie, position });
  readers.push(reader);
  return reader;
}

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

  test('sends events and status changes of its account only, once and in order', async () => {
    const [monitor, othersMonitor] = [await newMonitor(api), await newMonitor(api, {}, api.other.key)];
    const otherUser = await newSignedInUser(api, { accountId: api.other.id });
    const [mine, theirs] = [await open(), await open(undefined, otherUser.cookie)];
    const ids = [
      await recordCheck(api, monitor.id),
      await recordCheck(api, monitor.id, true),
      await recordCheck(api, monitor.id),
    ];
    await theirs.sees(await recordCheck(api, othersMonitor.id));
    await mine.sees(ids[2]);
    const late = await recordCheck(api, monitor.id);
    await mine.sees(late);
    expect(
      mine.received.map(({ event, data }) => [event, event === 'check' ? data['id'] : data['status']]),
    ).toEqual([
      ['check', ids[0]],
      ['status-change', 'UP'],
      ['check', ids[1]],
      ['status-change', 'DOWN'],
      ['check', ids[2]],
      ['status-change', 'UP'],
      ['check', late],
    ]);
    const { body } = await user.agent.get(`/api/dashboard/monitors/${monitor.id}/events`);
    const checks = mine.received.filter(({ event }) => event === 'check').map(({ data }) => data);
    expect(checks).toEqual((body as { events: unknown }).events);
    for (const data of checks) eventSchema.parse(data);
    const changes = mine.received.filter(({ event }) => event === 'status-change');
    expect(changes.map(({ data }) => statusChangeSchema.parse(data))[1]).toMatchObject({
      monitorId: monitor.id,
      monitorName: 'Shop',
      previousStatus: 'UP',
      errorReason: 'HTTP_500',
      region: 'default',
    });
    expect(theirs.received.map(({ data }) => data['monitorId'])).toEqual([
      othersMonitor.id,
      othersMonitor.id,
    ]);
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
        `with stamped as (
           update monitors set last_timestamp = date_trunc('milliseconds', clock_timestamp()) where id = $1
           returning id, last_timestamp)
         insert into events (monitor_id, timestamp, id, status, latency_ms, region, source)
         select id, last_timestamp, gen_random_uuid(), 'UP', 1, 'default', 'schedule' from stamped
         returning id`,
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
    `with stamped as (
       update monitors set last_timestamp = clock_timestamp() - interval '1 minute' where id = $1
       returning id, last_timestamp)
     insert into events (monitor_id, timestamp, id, status, latency_ms, region, source)
     select id, last_timestamp, gen_random_uuid(), 'UP', 1, 'default', 'schedule' from stamped returning id`,
    [monitor.id],
  );
  await reader.sees(rows[0]?.id);
});

describe('a position', () => {
  test.each(['', 'yesterday', '2026-02-30T00:00:00Z', '17'])('%j is invalid: 400', async (position) => {
    const header = await user.agent.get(STREAM).set('Last-Event-ID', position);
    const query = await user.agent.get(STREAM).query({ lastEventId: position });
    expect([header.status, query.status]).toEqual([400, 400]);
    expect(header.body).toMatchObject({ errors: [{ path: 'Last-Event-ID' }] });
    expect(query.body).toMatchObject({ errors: [{ path: 'lastEventId' }] });
  });

  test('that is given twice: 400', async () => {
    const now = new Date().toISOString();
    const response = await user.agent.get(STREAM).query({ lastEventId: [now, now] });
    expect(response.status).toBe(400);
  });
});

test('without a session: 401', async () => {
  expect((await fetch(`http://127.0.0.1:${api.port}${STREAM}`)).status).toBe(401);
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
