import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import { migrateQueue } from '@tocsin/queue/migrate';
import { Producers } from '@tocsin/queue/producers';
import { type QueueStore } from '@tocsin/queue/queue-store';
import { openQueueStore, openQueueStores } from '@tocsin/queue/queue-stores';
import { Client } from 'pg';
import { PATIENT_MS } from './stores.ts';

const ignore = (): void => undefined;

/** @param seen receives the id of each delivery whose job runs */
function startDeliveryWorker(store: QueueStore, seen: string[]): JobWorker {
  return startJobWorker(store, {
    kind: 'delivery',
    region: null,
    concurrency: 1,
    process: async ({ deliveryId }) => void seen.push(deliveryId),
    onFailed: ignore,
  });
}

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  await migrateQueue(database.url);
});
afterEach(() => database.drop());

test('a worker takes jobs again after all of its connections died silently', async () => {
  const proxy = await TcpProxy.start(database.url);
  const store = openQueueStore(proxy.through(database.url), ignore, {
    connectWithinMs: PATIENT_MS,
    silentMs: 5_000,
  });
  const stores = openQueueStores(database.url, new Map(), ignore);
  const producers = new Producers(stores, PATIENT_MS);
  const seen: string[] = [];
  const worker = startDeliveryWorker(store, seen);
  try {
    for (const count of [1, 2, 3]) {
      await producers.addDeliveries([randomUUID()]);
      await until(`job ${count}`, () => seen.length === count);
      proxy.blackHole();
      proxy.heal();
    }
  } finally {
    await worker.close();
    await producers.close();
    await stores.close();
    await store.close();
    await proxy.stop();
  }
});

test('a worker that started before the migration takes jobs after it', async () => {
  const empty = await createTestDatabase();
  let errors = 0;
  const store = openQueueStore(empty.url, () => {
    errors += 1;
    // Without a pause between its attempts, the worker would keep this test from ever ending.
    if (errors === 1_000) void worker.close();
  });
  const stores = openQueueStores(empty.url, new Map(), ignore);
  const producers = new Producers(stores, PATIENT_MS);
  const seen: string[] = [];
  const worker = startDeliveryWorker(store, seen);
  try {
    await until('the first error', () => errors > 0);
    await migrateQueue(empty.url);
    const id = randomUUID();
    await producers.addDeliveries([id]);
    await until('the job', () => seen.includes(id) || errors >= 1_000);
    expect(errors).toBeLessThan(1_000);
  } finally {
    await worker.close();
    await producers.close();
    await stores.close();
    await store.close();
    await empty.drop();
  }
});

test.each([
  ['connection', ''],
  ['query', 'migration'],
])(
  'if the first %s fails, producers fail at once and forget their jobs, and all work once Postgres is back',
  async (_what, text) => {
    const proxy = await TcpProxy.start(database.url);
    proxy.failsAt = { text, how: 'close' };
    const stores = openQueueStores(proxy.through(database.url), new Map(), ignore);
    const producers = new Producers(stores, PATIENT_MS);
    const seen: string[] = [];
    const worker = startDeliveryWorker(stores.main, seen);
    try {
      await expect(producers.addDeliveries([randomUUID()])).rejects.toThrow('Connection terminated');
      proxy.failsAt = null;
      const id = randomUUID();
      await until('a job is added', () =>
        producers.addDeliveries([id]).then(
          () => true,
          () => false,
        ),
      );
      await until('the job', () => seen.includes(id));
      expect(seen).toEqual([id]);
    } finally {
      await worker.close();
      await producers.close();
      await stores.close();
      await proxy.stop();
    }
  },
);

test('a worker whose store was never reachable closes without its store', async () => {
  const proxy = await TcpProxy.start(database.url);
  proxy.failsAt = { text: '', how: 'black hole' };
  const store = openQueueStore(proxy.through(database.url), ignore);
  const worker = store.openWorker('unreachable', () => Promise.resolve(), {});
  try {
    await until('a connection', () => proxy.isBlackHole);
    await worker.close();
  } finally {
    await store.close();
    await proxy.stop();
  }
});

test('a read-only store, such as a standby, is not ready', async () => {
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
  }
});
