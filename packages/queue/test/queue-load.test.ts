import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import type { Producers } from '@tocsin/queue/producers';
import { type QueueDepth, readQueueDepth, readRegionLoad, type RegionLoad } from '@tocsin/queue/queue-load';
import { openTestStore, PATIENT_MS, type TestStore } from './stores.ts';

const MONITOR = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
const OTHER = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3d';

const loadOf = (producers: Producers, region: string): Promise<RegionLoad> =>
  readRegionLoad(producers, region, PATIENT_MS);

describe.each(['redis', 'postgres'] as const)('the load of a region, with the queue on %s', (kind) => {
  let store: TestStore;
  let workers: JobWorker[];

  beforeEach(async () => {
    store = await openTestStore(kind);
    workers = [];
  });
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await store.close();
  });

  async function startWorker(job: 'check' | 'trigger', region: string, { stores } = store): Promise<void> {
    const worker = startJobWorker(stores.forRegion(region), {
      kind: job,
      region,
      concurrency: 1,
      process: async () => undefined,
      onFailed: () => undefined,
    });
    workers.push(worker);
    await worker.waitUntilReady();
  }

  async function workersAre(region: string, count: number): Promise<void> {
    await until(`${count} workers`, async () => (await loadOf(store.producers, region)).workers === count);
  }

  test('counts only the current workers of its checks', async () => {
    expect(await loadOf(store.producers, 'eu')).toEqual({ workers: 0, waiting: 0, lagMs: 0 });
    await startWorker('check', 'eu');
    await startWorker('check', 'eu');
    await startWorker('trigger', 'eu');
    await startWorker('check', 'eu-west');
    await workersAre('eu', 2);
    await workersAre('eu-west', 1);
    await workers.shift()?.close();
    await workersAre('eu', 1);
  });

  test('counts no workers of another system on the same server', async () => {
    const neighbor = await openTestStore(kind);
    try {
      await startWorker('check', 'eu', neighbor);
      await until('the neighbor to count it', async () => {
        return (await loadOf(neighbor.producers, 'eu')).workers === 1;
      });
      expect(await loadOf(store.producers, 'eu')).toMatchObject({ workers: 0 });
    } finally {
      await Promise.all(workers.splice(0).map((worker) => worker.close()));
      await neighbor.close();
    }
  });

  test('counts the waiting jobs and measures how long the oldest has been due', async () => {
    const now = Date.now();
    await store.producers.addFirstCheck('eu', { monitorId: MONITOR, revision: 1 }, now - 90_000);
    await store.producers.addFirstCheck('eu', { monitorId: OTHER, revision: 1 }, now - 30_000);
    const load = await loadOf(store.producers, 'eu');
    expect(load).toMatchObject({ workers: 0, waiting: 2 });
    expect(load.lagMs).toBeGreaterThanOrEqual(90_000);
    expect(load.lagMs).toBeLessThanOrEqual(90_000 + Date.now() - now);
    await startWorker('check', 'eu');
    await until('nothing to wait', async () => {
      const { waiting, lagMs } = await loadOf(store.producers, 'eu');
      return waiting === 0 && lagMs === 0;
    });
  });
});

describe.each(['redis', 'postgres'] as const)('the depth of a queue, on %s', (kind) => {
  test('counts the waiting and running jobs of each queue', async () => {
    const store = await openTestStore(kind);
    const depthOf = (job: 'check' | 'statusChange', region: string | null): Promise<QueueDepth> =>
      readQueueDepth(store.producers, job, region, PATIENT_MS);
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const worker = startJobWorker(store.stores.main, {
      kind: 'statusChange',
      region: null,
      concurrency: 1,
      process: () => released,
      onFailed: () => undefined,
    });
    try {
      expect(await depthOf('check', 'eu')).toEqual({ waiting: 0, active: 0 });
      await store.producers.addFirstCheck('eu', { monitorId: MONITOR, revision: 1 }, 1);
      await store.producers.addStatusChanges([MONITOR, OTHER]);
      await until('one to run', async () => {
        const { waiting, active } = await depthOf('statusChange', null);
        return waiting === 1 && active === 1;
      });
      expect(await depthOf('check', 'eu')).toEqual({ waiting: 1, active: 0 });
      expect(await depthOf('check', 'us')).toEqual({ waiting: 0, active: 0 });
    } finally {
      release?.();
      await worker.close();
      await store.close();
    }
  });
});

test('a store that hangs causes an error within the deadline', async () => {
  const never = (): Promise<number> => new Promise(() => undefined);
  const hanging = {
    countCheckWorkers: never,
    queue: () => ({ getWaitingCount: never, getJobCounts: never }),
  } as unknown as Producers;
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  try {
    const asked = Promise.all([
      expect(readRegionLoad(hanging, 'eu')).rejects.toThrow('the queue of eu took longer than 1500 ms'),
      expect(readQueueDepth(hanging, 'check', 'eu')).rejects.toThrow('took longer than 1500 ms'),
    ]);
    await jest.advanceTimersByTimeAsync(1_500);
    await asked;
  } finally {
    jest.useRealTimers();
  }
});
