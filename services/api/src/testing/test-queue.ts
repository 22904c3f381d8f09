import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { Producers } from '@tocsin/queue/producers';
import { openQueueStores, type QueueStores } from '@tocsin/queue/queue-stores';
import { Redis } from 'ioredis';

/** Longer than any test takes: on a slow machine no job comes too late. */
export const ENQUEUE_WITHIN_MS = 600_000;

/** A Redis of its own, as the api sees it and as a tool sees it. */
export interface TestQueue {
  readonly stores: QueueStores;
  readonly producers: Producers;
  readonly redis: Redis;
  close(): Promise<void>;
}

export async function openTestQueue(): Promise<TestQueue> {
  const { url } = await createTestRedis();
  const stores = openQueueStores(url, new Map(), () => undefined);
  const producers = new Producers(stores, ENQUEUE_WITHIN_MS);
  const redis = new Redis(url);
  // A producer fails fast until it is connected.
  await until('the store responds', () =>
    stores.ping().then(
      () => true,
      () => false,
    ),
  );
  return {
    stores,
    producers,
    redis,
    close: async () => {
      await producers.close();
      await stores.close();
      redis.disconnect();
    },
  };
}
