import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { migrateQueue } from '@tocsin/queue/migrate';
import type { OverlapGuard } from '@tocsin/queue/overlap-guard';
import { openQueueStores, type QueueStores } from '@tocsin/queue/queue-stores';
import { Client } from 'pg';
import { PATIENT_MS, untilItResponds } from './stores.ts';

const REGION = 'eu';
const HOUR_MS = 3_600_000;

describe.each(['redis', 'postgres'] as const)('the overlap guard on %s', (kind) => {
  let proxy: TcpProxy;
  let stores: QueueStores;
  let guard: OverlapGuard;
  let database: TestDatabase | undefined;
  beforeEach(async () => {
    database = kind === 'postgres' ? await createTestDatabase() : undefined;
    const { url } = database ?? (await createTestRedis());
    await migrateQueue(url);
    proxy = await TcpProxy.start(url);
    stores = openQueueStores(proxy.through(url), new Map(), () => undefined);
    await untilItResponds(stores);
    guard = stores.forRegion(REGION).overlapGuard;
  });
  afterEach(async () => {
    await stores.close();
    await proxy.stop();
    await database?.drop();
  });

  test('releases a lock that is acquired after its deadline, so that the next check of the monitor runs', async () => {
    const monitorId = randomUUID();
    proxy.hold();
    await expect(
      guard.acquire({ region: REGION, monitorId, jobId: 'job-1', forMs: HOUR_MS }, 1),
    ).rejects.toThrow('longer than 1 ms');
    proxy.heal();
    await until('the next job acquires it', () =>
      guard.acquire({ region: REGION, monitorId, jobId: 'job-2', forMs: HOUR_MS }, PATIENT_MS),
    );
  });

  test('releases a lock after the connection broke', async () => {
    const monitorId = randomUUID();
    const release = await guard.acquire(
      { region: REGION, monitorId, jobId: 'job-1', forMs: HOUR_MS },
      PATIENT_MS,
    );
    const refuses = (): Promise<boolean> =>
      guard.acquire({ region: REGION, monitorId: randomUUID(), jobId: 'job-2', forMs: 1 }, 1_000).then(
        () => false,
        (error: unknown) => !String(error).includes('took longer than'),
      );
    // Every connection breaks as soon as something is sent.
    proxy.failsAt = { text: '', how: 'close' };
    await until('the store refuses requests', refuses);
    const releasing = release?.().catch(() => 'failed');
    await until('the store still refuses requests', refuses);
    proxy.failsAt = null;
    expect(await releasing).toBeUndefined();
    await until('the next job acquires it', () =>
      guard
        .acquire({ region: REGION, monitorId, jobId: 'job-2', forMs: HOUR_MS }, PATIENT_MS)
        .catch(() => null),
    );
  });
});

test('deletes the rows of killed checkers from Postgres, and keeps those of running checks', async () => {
  const database = await createTestDatabase();
  await migrateQueue(database.url);
  const stores = openQueueStores(database.url, new Map(), () => undefined);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    const [killed, running] = [randomUUID(), randomUUID()];
    await client.query(
      `insert into bullmq.tocsin_running_checks (region, monitor_id, job_id, until)
       values ('eu', $1, 'a', now() - interval '1 second'), ('eu', $2, 'b', now() + interval '1 hour')`,
      [killed, running],
    );
    const acquired = randomUUID();
    await stores.main.overlapGuard.acquire(
      { region: REGION, monitorId: acquired, jobId: 'c', forMs: HOUR_MS },
      PATIENT_MS,
    );
    const left = async (): Promise<string[]> => {
      const { rows } = await client.query<{ id: string }>(
        'select monitor_id as id from bullmq.tocsin_running_checks',
      );
      return rows.map(({ id }) => id).sort();
    };
    await until('the row of the killed checker is gone', async () => !(await left()).includes(killed));
    expect(await left()).toEqual([running, acquired].sort());
  } finally {
    await client.end();
    await stores.close();
    await database.drop();
  }
});
