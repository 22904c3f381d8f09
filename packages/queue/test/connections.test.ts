import { randomUUID } from 'node:crypto';
import { expect, jest, test } from '@jest/globals';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { createStoreDatabase, PATIENT_MS, untilItResponds } from './stores.ts';

const HOUR_MS = 3_600_000;
const ignore = (): void => undefined;

test.each(['redis', 'postgres'] as const)(
  'a lock that is acquired after its deadline is released, so that the next check of the monitor runs: %s',
  async (kind) => {
    const database = await createStoreDatabase(kind);
    const proxy = await TcpProxy.start(database.url);
    const store = openQueueStore(proxy.through(database.url), ignore);
    try {
      await untilItResponds(store);
      const { overlapGuard } = store;
      const lock = { region: 'eu', monitorId: randomUUID(), forMs: HOUR_MS };
      proxy.hold();
      const late = overlapGuard.acquire({ ...lock, jobId: 'job-1' }, 1);
      await expect(late).rejects.toThrow('longer than 1 ms');
      proxy.heal();
      await until('the next job acquires it', () =>
        overlapGuard.acquire({ ...lock, jobId: 'job-2' }, PATIENT_MS),
      );
    } finally {
      await store.close();
      await proxy.stop();
      await database.drop();
    }
  },
);

test('the workers of many regions are counted in one list of all clients', async () => {
  const database = await createStoreDatabase('redis');
  const store = openQueueStore(database.url, ignore);
  const producers = new Producers(store, PATIENT_MS);
  const command = jest.spyOn(Redis.prototype, 'client');
  try {
    await untilItResponds(store);
    const regions = Array.from({ length: 100 }, (_, index) => `r${index}`);
    const counts = await Promise.all(regions.map((region) => producers.countCheckWorkers(region)));
    expect(new Set(counts)).toEqual(new Set([0]));
    expect(command.mock.calls.flat().filter((word: unknown) => word === 'LIST')).toHaveLength(1);
  } finally {
    command.mockRestore();
    await producers.close();
    await store.close();
    await database.drop();
  }
});

test('expired locks of killed checkers are deleted from Postgres, and those of running checks stay', async () => {
  const database = await createStoreDatabase('postgres');
  const store = openQueueStore(database.url, ignore);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    const [killed, running, acquired] = [randomUUID(), randomUUID(), randomUUID()];
    await client.query(
      `insert into bullmq.tocsin_running_checks (region, monitor_id, job_id, until)
       values ('eu', $1, 'a', now() - interval '1 second'), ('eu', $2, 'b', now() + interval '1 hour')`,
      [killed, running],
    );
    const lock = { region: 'eu', monitorId: acquired, jobId: 'c', forMs: HOUR_MS };
    await store.overlapGuard.acquire(lock, PATIENT_MS);
    const left = async (): Promise<string[]> => {
      const query = 'select monitor_id as id from bullmq.tocsin_running_checks order by id';
      return (await client.query<{ id: string }>(query)).rows.map(({ id }) => id);
    };
    await until('the lock of the killed checker is deleted', async () => !(await left()).includes(killed));
    expect(await left()).toEqual([running, acquired].sort());
  } finally {
    await client.end();
    await store.close();
    await database.drop();
  }
});

test.each(['redis', 'postgres'] as const)('a closed worker leaves no connections: %s', async (kind) => {
  const database = await createStoreDatabase(kind);
  const store = openQueueStore(database.url, ignore);
  const workers = 20;
  try {
    await untilItResponds(store);
    for (let index = 0; index < workers; index += 1) {
      const worker = store.openWorker('flapping', () => Promise.resolve(), {});
      await worker.waitUntilReady();
      await worker.close();
    }
    expect(await countConnections[kind](database.url)).toBeLessThan(workers);
  } finally {
    await store.close();
    await database.drop();
  }
});

const countConnections = {
  redis: async (url: string): Promise<number> => {
    const redis = new Redis(url);
    const { length } = String(await redis.client('LIST'))
      .trim()
      .split('\n');
    redis.disconnect();
    return length;
  },
  postgres: async (url: string): Promise<number> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rowCount } = await client.query(
      "select from pg_stat_activity where datname = current_database() and application_name = 'tocsin queue'",
    );
    await client.end();
    return rowCount ?? 0;
  },
};

test('a read-only store, such as a standby, is not ready', async () => {
  const database = await createStoreDatabase('postgres');
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`
    do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`);
  await client.end();
  const store = openQueueStore(database.url, ignore);
  try {
    await expect(store.ping()).rejects.toThrow('its sessions are read-only');
  } finally {
    await store.close();
    await database.drop();
  }
});
