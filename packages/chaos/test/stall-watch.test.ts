import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { StallWatch } from '@tocsin/chaos/load/stall-watch';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { KEY_PREFIX, type QueueStore, storedName } from '@tocsin/queue/queue-store';
import { openQueueStore } from '@tocsin/queue/queue-stores';
import { Redis } from 'ioredis';

const QUEUE = storedName('delivery', null);
let redis: Redis;
let store: QueueStore;
beforeEach(async () => {
  const { url } = await createTestRedis();
  redis = new Redis(url);
  store = openQueueStore(url, () => undefined);
});
afterEach(async () => {
  await store.close();
  redis.disconnect();
});

test('reports a job that stalls, and reads each event once', async () => {
  const queue = store.openQueue(QUEUE);
  await queue.add('before', {});
  const watch = await StallWatch.start(redis);
  await queue.add('deliver', {}, { jobId: 'left-alone' });
  const worker = store.openWorker(QUEUE, () => new Promise(() => undefined), {
    lockDuration: 300,
    skipLockRenewal: true,
    stalledInterval: 200,
    concurrency: 2,
  });
  const lost = new Set<string>();
  worker.on('stalled', (id) => lost.add(id));
  await until('the job to stall', () => lost.has('left-alone'));
  await worker.close(true);
  const { stalled, seen, unseen, silent } = await watch.stop();
  expect(stalled).toContain(`${KEY_PREFIX}:${QUEUE}:events left-alone`);
  expect({ seen: seen > 3, unseen }).toEqual({ seen: true, unseen: 0 });
  // The three queues of four that were not used.
  expect(silent).toHaveLength(3);
  await queue.close();
});

test('counts the events that were trimmed before it read them', async () => {
  const key = `${KEY_PREFIX}:${QUEUE}:events`;
  const watch = await StallWatch.start(redis);
  const writes = redis.multi();
  for (let number = 0; number < 5; number += 1) writes.xadd(key, 'MAXLEN', 2, '*', 'event', 'added');
  await writes.exec();
  expect(await watch.stop()).toMatchObject({ stalled: [], seen: 2, unseen: 3 });
});
