import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startJobWorker, type JobWorker } from '@tocsin/queue/job-worker';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { openQueueStores, type QueueStores } from '@tocsin/queue/queue-stores';
import { Producers } from '@tocsin/queue/producers';
import { Redis } from 'ioredis';
import { until } from './stores.ts';

describe('a job that fails', () => {
  let stores: QueueStores;
  let producers: Producers;
  let worker: JobWorker;
  let redis: Redis;
  beforeEach(async () => {
    const { url } = await createTestRedis();
    redis = new Redis(url);
    const ignore = (): undefined => undefined;
    stores = openQueueStores(url, ignore, ignore);
    producers = new Producers(stores);
    await stores.ping().catch(() => stores.ping());
  });
  afterEach(async () => {
    await worker.close();
    await producers.close();
    await stores.close();
    redis.disconnect();
  });

  test('tells the log why, and the store nothing of it', async () => {
    const failures: Error[] = [];
    worker = startJobWorker(stores.main, {
      kind: 'delivery',
      region: null,
      concurrency: 1,
      process: () => Promise.reject(new Error('Failed query: …\nparams: s3cret')),
      onFailed: (_jobId, error) => failures.push(error),
    });
    await producers.addDeliveries([randomUUID()]);
    await until('the failure', () => failures.length > 0);
    expect(failures[0]?.message).toContain('s3cret');
    const monitored: string[] = [];
    for (const key of await redis.keys('*')) monitored.push(JSON.stringify(await contentOf(redis, key)));
    expect(monitored.join('\n')).toContain('failed');
    expect(monitored.join('\n')).not.toContain('s3cret');
  });
});

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'hash':
      return redis.hgetall(key);
    case 'stream':
      return redis.xrange(key, '-', '+');
    case 'zset':
      return redis.zrange(key, '0', '-1');
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    default:
      return redis.get(key);
  }
}
