import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestRedis, readTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { startJobWorker, type JobWorker } from '@tocsin/queue/job-worker';
import { Producers } from '@tocsin/queue/producers';
import { openQueueStores, type QueueStores } from '@tocsin/queue/queue-stores';
import { PATIENT_MS, untilItResponds } from './stores.ts';

describe('a job that fails', () => {
  let stores: QueueStores;
  let producers: Producers;
  let worker: JobWorker;
  let url: string;
  beforeEach(async () => {
    ({ url } = await createTestRedis());
    const ignore = (): undefined => undefined;
    stores = openQueueStores(url, new Map(), ignore);
    producers = new Producers(stores, PATIENT_MS);
    await untilItResponds(stores);
  });
  afterEach(async () => {
    await worker.close();
    await producers.close();
    await stores.close();
  });

  test('logs the reason and keeps it out of the store', async () => {
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
    const stored = JSON.stringify(await readTestRedis(url));
    expect(stored).toContain('failed');
    expect(stored).not.toContain('s3cret');
  });
});
