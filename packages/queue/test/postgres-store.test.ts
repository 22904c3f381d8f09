import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { startJobWorker } from '@tocsin/queue/job-worker';
import { migrateQueue } from '@tocsin/queue/migrate';
import { Producers } from '@tocsin/queue/producers';
import { openQueueStore } from '@tocsin/queue/queue-store';
import { openQueueStores } from '@tocsin/queue/queue-stores';
import { Client } from 'pg';
import { PATIENT_MS } from './stores.ts';

const ignore = (): void => undefined;

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  await migrateQueue(database.url);
});
afterEach(() => database.drop());

test('a worker takes jobs again after all of its connections died silently', async () => {
  const proxy = await TcpProxy.start(database.url);
  const store = openQueueStore(proxy.through(database.url), ignore, undefined, PATIENT_MS, 5_000);
  const stores = openQueueStores(database.url, new Map(), ignore);
  const producers = new Producers(stores, PATIENT_MS);
  const seen: string[] = [];
  const worker = startJobWorker(store, {
    kind: 'delivery',
    region: null,
    concurrency: 1,
    process: async ({ deliveryId }) => void seen.push(deliveryId),
    onFailed: ignore,
  });
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

test('workers and producers that started while Postgres was unavailable work as soon as it answers', async () => {
  const proxy = await TcpProxy.start(database.url);
  // Every connection breaks as soon as something is sent.
  proxy.failsAt = { text: '', how: 'close' };
  let errors = 0;
  const stores = openQueueStores(proxy.through(database.url), new Map(), () => (errors += 1));
  const producers = new Producers(stores, PATIENT_MS);
  const seen: string[] = [];
  const worker = startJobWorker(stores.main, {
    kind: 'delivery',
    region: null,
    concurrency: 1,
    process: async ({ deliveryId }) => void seen.push(deliveryId),
    onFailed: ignore,
  });
  try {
    const id = randomUUID();
    const adding = producers.addDeliveries([id]);
    await until('a connection has failed', () => errors > 0);
    proxy.failsAt = null;
    await adding;
    await until('the job', () => seen.includes(id));
  } finally {
    await worker.close();
    await producers.close();
    await stores.close();
    await proxy.stop();
  }
});

test('a store that only reads, as a standby does, is not ready', async () => {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`
    do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`);
  await client.end();
  const store = openQueueStore(database.url, ignore);
  try {
    await expect(store.ping()).rejects.toThrow('its sessions only read');
  } finally {
    await store.close();
  }
});
