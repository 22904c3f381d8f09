import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { acquireLeaderLease, type LeaderLease } from '@tocsin/db/database/leader-lease';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { Client } from 'pg';

const LOCK = 42;
/** With these times, a lease on a broken connection is lost soon. */
const SHORT = { heartbeatMs: 20, validMs: 300, sessionMs: 900 };
/** With these times, a busy machine does not lose a lease on a working connection. */
const PATIENT = { heartbeatMs: 20, validMs: 600_000, sessionMs: 1_200_000 };

let proxy: TcpProxy;
const leases: LeaderLease[] = [];
const database = await createTestDatabase();
afterAll(() => database.drop());
beforeEach(async () => {
  proxy = await TcpProxy.start(database.url);
});
afterEach(async () => {
  await proxy.stop();
  await Promise.all(leases.splice(0).map((lease) => lease.release()));
});

async function acquire(
  url: string,
  timing = PATIENT,
  signal: AbortSignal = new AbortController().signal,
): Promise<LeaderLease | null> {
  const lease = await acquireLeaderLease(url, LOCK, signal, timing);
  if (lease) leases.push(lease);
  return lease;
}

async function lead(url: string, timing = PATIENT): Promise<LeaderLease> {
  return until('the lock is free', () => acquire(url, timing));
}

describe('an election', () => {
  test('has one winner at a time', async () => {
    const first = await lead(database.url);
    expect(await acquire(database.url)).toBeNull();
    await first.release();
    expect(first.isAlive()).toBe(false);
    await lead(database.url);
  });

  test.each([
    ['before the connection is made', 'user'],
    ['before the response to the query', 'pg_try_advisory_lock'],
  ])('ends when it is aborted while the network fails %s', async (_when, text) => {
    proxy.failsAt = { text, how: 'black hole' };
    const controller = new AbortController();
    const election = acquire(proxy.through(database.url), PATIENT, controller.signal);
    election.catch(() => undefined);
    await until('the election has begun', () => proxy.accepted === 1);
    // In the second case, the network fails only after the connection is made.
    await until('the network has failed', () => proxy.isBlackHole);
    controller.abort(new Error('too late'));
    await expect(election).rejects.toThrow('too late');
    proxy.failsAt = null;
    proxy.heal();
    await lead(proxy.through(database.url));
  });
});

describe('a lease', () => {
  test('is kept alive by heartbeats', async () => {
    const lease = await lead(database.url);
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const seen = new Set<number>();
    await until('the session has been used at four different times', async () => {
      const { rows } = await client.query<{ at: Date }>(
        `select query_start as at from pg_stat_activity
         where application_name = 'tocsin leader' and datname = current_database()`,
      );
      for (const { at } of rows) seen.add(at.getTime());
      return seen.size > 3;
    });
    await client.end();
    expect(lease.isAlive()).toBe(true);
  });

  test('ends on a dead connection before another process can become the leader, and reports its loss, but not its release', async () => {
    const first = await lead(proxy.through(database.url), SHORT);
    let lost = 0;
    first.onLost(() => (lost += 1));
    proxy.blackHole();
    const next = await lead(database.url);
    expect(first.isAlive()).toBe(false);
    await until('the loss is reported', () => lost === 1);
    first.onLost(() => (lost += 1));
    await until('the loss is reported to a callback that was added later', () => lost === 2);
    await first.release();
    await next.release();
    next.onLost(() => (lost += 1));
    expect(lost).toBe(2);
  });

  test('can be released on a dead connection', async () => {
    const lease = await lead(proxy.through(database.url));
    proxy.blackHole();
    await lease.release();
    expect(lease.isAlive()).toBe(false);
  });
});
