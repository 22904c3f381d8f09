import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { memberships } from '@tocsin/db/users/table';
import { deleteUser } from '@tocsin/db/users/users';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { newMonitor, recordCheck } from '../testing/monitors.ts';
import { browser, newSignedInUser, type TestUser } from '../testing/sign-in.ts';
import { stopClock } from '../testing/stopped-clock.ts';
import { STREAM, StreamReader } from '../testing/stream-reader.ts';
import { openTestApi, type TestApi, useTestApi } from '../testing/test-api.ts';
import { STREAM_LIMITS } from './stream-limits.ts';

const secretsKey = randomBytes(32);
const api = await useTestApi({ secretsKey, streamLimits: { heartbeatMs: 50, open: 4, openWithinMs: 400 } });

const open = (user: TestUser, of: TestApi = api): Promise<StreamReader> =>
  StreamReader.open(of, { cookie: user.cookie });

/** Waits until more than this many heartbeats have come. */
async function beats(reader: StreamReader, count: number): Promise<void> {
  const { heartbeats } = reader;
  await until('some heartbeats', () => reader.heartbeats > heartbeats + count);
}

async function openStreams(of: TestApi = api): Promise<number> {
  const text = await of.context.metrics.metrics();
  return Number(/^tocsin_streams_open (\d+)$/m.exec(text)?.[1]);
}

describe('a stream ends with the next heartbeat', () => {
  test('when its user signs out or is removed; another user keeps the stream', async () => {
    const [leaving, staying, removed] = await Promise.all([1, 2, 3].map(() => newSignedInUser(api)));
    if (!leaving || !staying || !removed) throw new Error('there must be three users');
    const [left, kept, gone] = [await open(leaving), await open(staying), await open(removed)];
    await leaving.agent.post('/api/auth/sign-out').send({});
    expect(await left.over).toBe('ended');
    await deleteUser(api.context.db, systemActor(api.account.id), removed.id);
    expect(await gone.over).toBe('ended');
    await beats(kept, 3);
    await kept.close();
  });

  test('when the account removes its user, who keeps the session for another account', async () => {
    const user = await newSignedInUser(api);
    const reader = await open(user);
    await api.context.db.insert(memberships).values({
      accountId: api.other.id,
      userId: user.id,
      role: 'viewer',
    });
    await deleteUser(api.context.db, systemActor(api.account.id), user.id);
    expect(await reader.over).toBe('ended');
    expect((await user.agent.get('/api/dashboard/me')).body).toMatchObject({ user: { role: 'viewer' } });
  });

  test('when the session expires, which a stream does not extend', async () => {
    const user = await newSignedInUser(api);
    const reader = await open(user);
    const expireIn = (interval: string): Promise<unknown> =>
      api.database.pool.query('update sessions set expires_at = now() + $2::interval where user_id = $1', [
        user.id,
        interval,
      ]);
    await expireIn('5 days');
    await beats(reader, 3);
    const { rowCount } = await api.database.pool.query(
      `select from sessions where user_id = $1 and expires_at < now() + interval '6 days'`,
      [user.id],
    );
    expect(rowCount).toBe(1);
    await expireIn('0');
    expect(await reader.over).toBe('ended');
  });
});

test('streams are counted, one account may open all of them, and another takes its share of them', async () => {
  await until('the streams of other tests are closed', async () => (await openStreams()) === 0);
  const [user, other] = [await newSignedInUser(api), await newSignedInUser(api, { accountId: api.other.id })];
  const readers: StreamReader[] = [];
  for (const one of [user, user, user, user]) readers.push(await open(one));
  expect(await openStreams()).toBe(4);
  const refused = await user.agent.get(STREAM);
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
  for (const one of [other, other]) readers.push(await open(one));
  expect(await Promise.all(readers.splice(0, 2).map(({ over }) => over))).toEqual(['ended', 'ended']);
  expect((await other.agent.get(STREAM)).status).toBe(503);
  expect(await openStreams()).toBe(4);
  await Promise.all(readers.map((reader) => reader.close()));
  await until('the streams are closed', async () => (await openStreams()) === 0);
  const measured = await api.context.metrics.metrics();
  expect(measured).toContain('route="/api/dashboard/stream",status="503"');
  // A stream that lasts for hours is no slow response.
  expect(measured).not.toContain('route="/api/dashboard/stream",status="200"');
});

/** Counts the polls of an account from now on. */
function countPolls({ pool }: OpenDatabase): () => number {
  const query = pool.query.bind(pool) as (...args: unknown[]) => unknown;
  let polls = 0;
  Object.assign(pool, {
    query: (...args: unknown[]) => {
      if (JSON.stringify(args[0]).includes('transaction_timestamp')) polls += 1;
      return query(...args);
    },
  });
  return () => polls;
}

test('a client that does not read is disconnected, and one that reads gets everything', async () => {
  // A few of these fill the kernel's buffers of a connection.
  const fat = 'x'.repeat(512 * 1024);
  const [user, monitor] = [await newSignedInUser(api), await newMonitor(api)];
  const reader = await open(user);
  const lazy = connect(api.port, '127.0.0.1');
  lazy.on('error', () => undefined);
  lazy.write(`GET ${STREAM} HTTP/1.1\r\nHost: localhost\r\nCookie: ${user.cookie}\r\n\r\n`);
  await until('both streams are open', async () => (await openStreams()) === 2);
  await api.database.pool.query('update monitors set runbook_url = $2 where id = $1', [monitor.id, fat]);
  const ids: string[] = [];
  while ((await openStreams()) === 2) {
    if (ids.length > 200) throw new Error('never cut off');
    const id = await recordCheck(api, monitor.id);
    // The reading client receives each result before the next one is recorded, so that it is not disconnected on a slow machine.
    await reader.sees(id);
    ids.push(id);
  }
  expect(reader.heartbeats).toBeGreaterThan(0);
  const received = reader.received.map(({ data }) => data['id']);
  expect(received).toEqual(expect.arrayContaining(ids));
  lazy.destroy();
  await reader.close();
});

describe('without Postgres', () => {
  let proxy: TcpProxy;
  let database: OpenDatabase;
  /** An api on the database of `api`, which it reaches through a proxy. */
  let behind: TestApi;
  beforeAll(async () => {
    proxy = await TcpProxy.start(api.databaseUrl);
    const url = proxy.through(api.databaseUrl);
    const onIdleError = (): void => undefined;
    database = openDatabase({ url, poolSize: 3, applicationName: 'test', onIdleError });
    behind = await openTestApi({ secretsKey, db: database.db, streamLimits: { heartbeatMs: 50 } });
  });
  afterAll(async () => {
    await behind.close();
    await database.close();
    await proxy.stop();
  });

  /** Closes each connection with its next query. */
  const cutOff = (): void => void (proxy.failsAt = { text: '', how: 'close' });
  const heal = (): void => void (proxy.failsAt = null);

  test('streams stay open, and nothing is lost', async () => {
    const [user, monitor] = [await newSignedInUser(api), await newMonitor(api)];
    const reader = await open(user, behind);
    await reader.sees(await recordCheck(api, monitor.id));
    cutOff();
    const missed = await recordCheck(api, monitor.id);
    const refused = await browser(behind).get(STREAM).set('Cookie', user.cookie);
    expect(refused.status).toBe(503);
    await beats(reader, 5);
    expect(reader.received.map(({ data }) => data['id'])).not.toContain(missed);
    heal();
    await reader.sees(missed);
    expect(reader.received.map(({ event }) => event)).not.toContain('reset');
    await reader.close();
  });

  test('for longer than a replay: there is a reset', async () => {
    const [user, monitor] = [await newSignedInUser(api), await newMonitor(api)];
    const reader = await open(user, behind);
    const polls = countPolls(database);
    const clock = stopClock();
    try {
      cutOff();
      const missed = await recordCheck(api, monitor.id);
      clock.advance(STREAM_LIMITS.replayMs + 1);
      const before = polls();
      // The first of the two may have begun before the clock moved.
      await until('a poll after that time', () => polls() >= before + 2);
      heal();
      await until('something comes', () => reader.received.length > 0);
      expect(reader.received[0]?.event).toBe('reset');
      await reader.sees(await recordCheck(api, monitor.id));
      expect(reader.received.map(({ data }) => data['id'])).not.toContain(missed);
    } finally {
      clock.restore();
    }
    await reader.close();
  });
});

test('a service that stops ends its streams, and opens none', async () => {
  const stopping = await openTestApi();
  try {
    const user = await newSignedInUser(stopping);
    const readers = [await open(user, stopping), await open(user, stopping)];
    await stopping.streams.stop();
    expect(await Promise.all(readers.map(({ over }) => over))).toEqual(['ended', 'ended']);
    expect((await user.agent.get(STREAM)).status).toBe(503);
    expect(await openStreams(stopping)).toBe(0);
  } finally {
    await stopping.close();
  }
});

test('a service that stops waits for the session check of a stream in progress', async () => {
  const stopping = await openTestApi({ streamLimits: { heartbeatMs: 50 } });
  const client = await stopping.database.pool.connect();
  try {
    const reader = await open(await newSignedInUser(stopping), stopping);
    // On a slow machine the transaction may be idle for longer than the usual limit.
    await client.query('set idle_in_transaction_session_timeout = 0');
    await client.query('begin');
    await client.query('lock table sessions in access exclusive mode');
    await until('a session check waits for the lock', async () => {
      const { rowCount } = await stopping.database.pool.query(
        `select from pg_locks where relation = 'sessions'::regclass and not granted
         and database = (select oid from pg_database where datname = current_database())`,
      );
      return (rowCount ?? 0) > 0;
    });
    const order: string[] = [];
    const stopped = stopping.streams.stop().then(() => order.push('stopped'));
    expect(await reader.over).toBe('ended');
    order.push('session checked');
    await client.query('rollback');
    await stopped;
    expect(order).toEqual(['session checked', 'stopped']);
  } finally {
    client.release();
    await stopping.close();
  }
});
