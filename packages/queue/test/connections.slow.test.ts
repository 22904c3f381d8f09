import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import { migrateQueue } from '@tocsin/queue/migrate';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import type { QueueStore } from '@tocsin/queue/queue-store';
import { createStoreDatabase, PATIENT_MS, succeeds, untilItResponds } from './stores.ts';

const ignore = (): void => undefined;

/** Closes what a test has opened. */
let opened: (() => Promise<void>)[];
beforeEach(() => {
  opened = [];
});
afterEach(async () => {
  for (const close of opened.toReversed()) await close();
});

async function createDatabase(
  kind: 'redis' | 'postgres' = 'postgres',
): Promise<{ url: string; proxy: TcpProxy }> {
  const { url, drop } = await createStoreDatabase(kind);
  const proxy = await TcpProxy.start(url);
  opened.push(drop, () => proxy.stop());
  return { url, proxy };
}

function openProducers(url: string): { store: QueueStore; producers: Producers } {
  const store = openQueueStore(url, ignore);
  const producers = new Producers(store, PATIENT_MS);
  opened.push(
    () => store.close(),
    () => producers.close(),
  );
  return { store, producers };
}

/** Starts a worker of deliveries. @returns the worker, and the ids of the jobs that it has run */
function startDeliveries(store: QueueStore): { worker: JobWorker; seen: string[] } {
  const seen: string[] = [];
  const worker = startJobWorker(store, {
    kind: 'delivery',
    region: null,
    concurrency: 1,
    process: async ({ deliveryId }) => void seen.push(deliveryId),
    onFailed: ignore,
  });
  opened.push(() => worker.close());
  return { worker, seen };
}

describe('a worker of a queue in Postgres', () => {
  test('takes jobs again after all of its connections died silently', async () => {
    const { url, proxy } = await createDatabase();
    const options = { connectWithinMs: PATIENT_MS, silentMs: 5_000 };
    const store = openQueueStore(proxy.through(url), ignore, options);
    opened.push(() => store.close());
    const { producers } = openProducers(url);
    const { seen } = startDeliveries(store);
    for (const count of [1, 2, 3]) {
      await producers.addDeliveries([randomUUID()]);
      await until(`job ${count}`, () => seen.length === count);
      proxy.blackHole();
      proxy.heal();
    }
  });

  test('that started before the migration takes jobs after it', async () => {
    const empty = await createTestDatabase();
    opened.push(() => empty.drop());
    let errors = 0;
    const store = openQueueStore(empty.url, () => {
      errors += 1;
      // Without a pause between its attempts, the worker would keep this test from ever ending.
      if (errors === 1_000) void worker.close();
    });
    opened.push(() => store.close());
    const { producers } = openProducers(empty.url);
    const { worker, seen } = startDeliveries(store);
    await until('the first error', () => errors > 0);
    await migrateQueue(empty.url);
    const id = randomUUID();
    await producers.addDeliveries([id]);
    await until('the job', () => seen.includes(id) || errors >= 1_000);
    expect(errors).toBeLessThan(1_000);
  });

  test('closes without its store, if the store was never reachable', async () => {
    const { url, proxy } = await createDatabase();
    proxy.failsAt = { text: '', how: 'black hole' };
    const store = openQueueStore(proxy.through(url), ignore);
    opened.push(() => store.close());
    const worker = store.openWorker('unreachable', () => Promise.resolve(), {});
    await until('a connection', () => proxy.isBlackHole);
    await worker.close();
  });
});

test.each([
  ['connection', ''],
  ['query', 'migration'],
])(
  'if the first %s fails, producers fail at once and forget their jobs, and all work once Postgres is back',
  async (_what, text) => {
    const { url, proxy } = await createDatabase();
    proxy.failsAt = { text, how: 'close' };
    const { store, producers } = openProducers(proxy.through(url));
    const { seen } = startDeliveries(store);
    await expect(producers.addDeliveries([randomUUID()])).rejects.toThrow('Connection terminated');
    proxy.failsAt = null;
    const id = randomUUID();
    await until('a job is added', () => succeeds(producers.addDeliveries([id])));
    await until('the job', () => seen.includes(id));
    expect(seen).toEqual([id]);
  },
);

test.each(['redis', 'postgres'] as const)(
  'a lock is released after the connection broke: %s',
  async (kind) => {
    const { url, proxy } = await createDatabase(kind);
    const { store } = openProducers(proxy.through(url));
    await untilItResponds(store);
    const { overlapGuard: guard } = store;
    const lock = { region: 'eu', monitorId: randomUUID(), jobId: 'job-1', forMs: 3_600_000 };
    const release = await guard.acquire(lock, PATIENT_MS);
    const refuses = (): Promise<boolean> =>
      guard.acquire({ ...lock, monitorId: randomUUID(), forMs: 1 }, 1_000).then(
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
      guard.acquire({ ...lock, jobId: 'job-2' }, PATIENT_MS).catch(() => null),
    );
  },
);
