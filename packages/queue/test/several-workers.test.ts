import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { type JobWorker, startJobWorker, workersFor } from '@tocsin/queue/job-worker';
import type { QueueStore } from '@tocsin/queue/queue-store';
import { openTestStore, type TestStore } from './stores.ts';

const REGION = 'eu-west-1';

describe('several workers that take the jobs of one queue', () => {
  let store: TestStore;
  let worker: JobWorker;
  /** The jobs in the order in which they started. */
  let started: string[];
  let failed: string[];
  let ends: (() => void)[];

  beforeEach(async () => {
    store = await openTestStore('redis');
    started = [];
    failed = [];
    ends = [];
    worker = startJobWorker(store.stores.forRegion(REGION), {
      kind: 'check',
      region: REGION,
      concurrency: 9,
      workers: 3,
      process: (_, jobId) => {
        started.push(jobId);
        return new Promise((resolve) => ends.push(resolve));
      },
      onFailed: (jobId) => failed.push(jobId),
    });
  });
  afterEach(async () => {
    endAll();
    await worker.close();
    await store.close();
  });

  function endAll(): void {
    for (const end of ends.splice(0)) end();
  }

  async function addJobs(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1)
      await store.producers.addFirstCheck(REGION, { monitorId: randomUUID(), revision: 1 }, 1);
  }

  const jobsLeft = (): Promise<number> => store.producers.queue('check', REGION).count();

  test('run each job once, and share the limit of concurrent jobs', async () => {
    await addJobs(12);
    await until('as many as may run', async () => started.length === 9 && (await jobsLeft()) === 3);
    endAll();
    await until('the rest', () => started.length === 12);
    expect([new Set(started).size, failed]).toEqual([12, []]);
  });

  test('count as one', async () => {
    await worker.waitUntilReady();
    expect(await store.producers.countCheckWorkers(REGION)).toBe(1);
  });

  test('take a single job while they take no more, and all of them afterwards', async () => {
    worker.takeMore(false);
    await addJobs(4);
    await until('one to run', async () => started.length === 1 && (await jobsLeft()) === 3);
    worker.takeMore(true);
    await until('all to run', () => started.length === 4);
  });

  test('take no job to return it while they take no more and some run', async () => {
    await addJobs(9);
    await until('all to run', () => started.length === 9);
    worker.takeMore(false);
    await addJobs(3);
    // Whichever worker runs the last one, the others leave the waiting jobs to another process.
    for (let left = 9; left > 1; left -= 1) ends.shift()?.();
    const again: boolean[] = [];
    const elsewhere = startJobWorker(store.stores.forRegion(REGION), {
      kind: 'check',
      region: REGION,
      concurrency: 1,
      process: async (_payload, _jobId, history) => void again.push(history.again),
      onFailed: (jobId) => failed.push(jobId),
    });
    await until('another process', () => again.length === 3);
    expect([again, failed]).toEqual([[false, false, false], []]);
    await elsewhere.close();
  });

  test('take no job while they are halted, not even one', async () => {
    worker.halt(true);
    worker.takeMore(false);
    worker.takeMore(true);
    await addJobs(4);
    const other: string[] = [];
    const elsewhere = startJobWorker(store.stores.forRegion(REGION), {
      kind: 'check',
      region: REGION,
      concurrency: 1,
      process: async (_, jobId) => void other.push(jobId),
      onFailed: () => undefined,
    });
    await until('another process', () => other.length === 4);
    expect(started).toEqual([]);
    await elsewhere.close();
    worker.halt(false);
    await addJobs(2);
    await until('both', () => started.length === 2);
  });
});

describe('the number of workers of a queue', () => {
  const storeWith = (kind: QueueStore['kind'], ping: () => Promise<void>): QueueStore =>
    ({ kind, ping }) as QueueStore;

  test('grows with the distance to Redis', async () => {
    const workers = await workersFor(storeWith('redis', () => wait(100)));
    expect(workers).toBeGreaterThanOrEqual(40);
    expect(workers).toBeLessThanOrEqual(64);
  });

  test('is one if the queue is in Postgres, whose workers have connections of their own', async () => {
    expect(await workersFor(storeWith('postgres', () => wait(100)))).toBe(1);
  });

  test('is that of a distant store if the store is unavailable', async () => {
    const unavailable = (): Promise<void> => Promise.reject(new Error('unavailable'));
    expect(await workersFor(storeWith('redis', unavailable))).toBe(32);
  });

  test('is that of the responses if some are missing', async () => {
    let pings = 0;
    const ping = async (): Promise<void> => {
      pings += 1;
      if (pings === 1) throw new Error('not connected yet');
      await wait(100);
    };
    expect(await workersFor(storeWith('redis', ping))).toBeGreaterThanOrEqual(40);
  });
});
