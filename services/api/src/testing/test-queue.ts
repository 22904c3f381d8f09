import { afterAll } from '@jest/globals';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import type { QueueStore } from '@tocsin/queue/queue-store';
import { Redis } from 'ioredis';

/** Longer than any test takes, so that no job times out on a slow machine. */
export const ENQUEUE_WITHIN_MS = 600_000;

/** A separate Redis for a test, with the connections that the api uses and a direct one. */
export interface TestQueue {
  readonly store: QueueStore;
  readonly producers: Producers;
  readonly redis: Redis;
  close(): Promise<void>;
}

export async function openTestQueue(): Promise<TestQueue> {
  const { url } = await createTestRedis();
  const store = openQueueStore(url, () => undefined);
  const producers = new Producers(store, ENQUEUE_WITHIN_MS);
  const redis = new Redis(url);
  // A producer fails fast until it is connected.
  await until('the store responds', () =>
    store.ping().then(
      () => true,
      () => false,
    ),
  );
  return {
    store,
    producers,
    redis,
    close: async () => {
      await producers.close();
      await store.close();
      redis.disconnect();
    },
  };
}

/** The same for all tests of a file. */
export async function useTestQueue(): Promise<TestQueue> {
  const queue = await openTestQueue();
  afterAll(() => queue.close());
  return queue;
}
