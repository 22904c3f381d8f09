import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startRedis, type RedisServer } from '@tocsin/embedded/redis';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';
import { keepEvents, readStalls } from '@tocsin/lab/load/stalls';
import { KEY_PREFIX, type QueueStore, storedName } from '@tocsin/queue/queue-store';
import { openQueueStore } from '@tocsin/queue/queue-stores';
import { Redis } from 'ioredis';

const QUEUE = storedName('delivery', null);
const KEY = `${KEY_PREFIX}:${QUEUE}:events`;
/** Exceeds the number of events that BullMQ keeps, which is about a hundred. */
const JOBS = 400;
let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let server: RedisServer;
let redis: Redis;
let store: QueueStore;
beforeEach(async () => {
  folder = await createTemporaryFolder();
  server = await startRedis({ dataDir: folder.path, appendOnly: false });
  redis = new Redis(server.url);
  store = openQueueStore(server.url, () => undefined);
});
afterEach(async () => {
  await store.close();
  redis.disconnect();
  await server.stop();
  await folder.remove();
});

test('reports a job that stalls, and reads every event of a busy queue', async () => {
  await keepEvents(redis);
  const queue = store.openQueue(QUEUE);
  await queue.addBulk(Array.from({ length: JOBS }, () => ({ name: 'deliver', data: {} })));
  await queue.drain();
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
  const { stalled, unseen, silent } = await readStalls(redis, 'default');
  expect(stalled).toContain(`${KEY} left-alone`);
  expect(unseen).toBe(0);
  // Three of the four queues were not used.
  expect(silent).toHaveLength(3);
  await queue.close();
});
