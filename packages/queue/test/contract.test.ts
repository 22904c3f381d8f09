import { randomUUID } from 'node:crypto';
import { describe, expect, jest, test } from '@jest/globals';
import { slotOfJob } from '@tocsin/core/schedule/slots';
import { readTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { JobPostponedError, JobReturnedError } from '@tocsin/queue/job-worker';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import type { ReleaseLock } from '@tocsin/queue/overlap-guard';
import type { Producers } from '@tocsin/queue/producers';
import { readQueueDepth, readRegionLoad } from '@tocsin/queue/queue-load';
import { startTracingWithoutExport } from '@tocsin/runtime/testing/trace-receiver';
import { continueTrace, currentTraceparent } from '@tocsin/runtime/tracing';
import { distantWave, onBothStores, PATIENT_MS, TestQueue } from './stores.ts';

const MONITOR = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
const OTHER = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3d';

onBothStores('the contract of a queue', (queue) => {
  test('a first check runs immediately, and only once if it is added repeatedly', async () => {
    const payload = { monitorId: MONITOR, revision: 1 };
    await queue.producers.addFirstCheck(queue.region, payload, 1_795_177_316_123);
    await queue.producers.addFirstCheck(queue.region, payload, 1_795_177_316_123);
    const { seen } = queue.startChecks();
    await until('the check', () => seen.length > 0);
    await until('an empty queue', async () => {
      const counts = await queue.checks.getJobCounts('wait', 'active', 'delayed');
      return Object.values(counts).every((count) => count === 0);
    });
    expect(seen).toEqual([{ jobId: expect.any(String), stalls: 0, again: false }]);
    expect(slotOfJob(seen[0]?.jobId ?? '')).toBe(1_795_177_316_123);
  });

  test('an extra check waits for its slot, and a second one with the same slot is not added', async () => {
    const [due, later] = [Date.now() - 1_000, Date.now() + 3_600_000];
    const checks = [
      { monitorId: MONITOR, revision: 1, slot: due },
      { monitorId: OTHER, revision: 2, slot: later },
    ];
    await queue.producers.addExtraChecks(queue.region, 'recheck', checks);
    await queue.producers.addExtraChecks(queue.region, 'recheck', checks);
    await queue.producers.addExtraChecks(queue.region, 'retry', checks.slice(0, 1));
    const delayed = await queue.checks.getDelayed();
    expect(delayed.map(({ id, data }) => [id, data])).toEqual([
      [`recheck-${OTHER}-${later}`, { monitorId: OTHER, revision: 2 }],
    ]);
    const { seen } = queue.startChecks();
    await until('the checks that are due', () => seen.length >= 2);
    await delayed[0]?.promote();
    await until('the other check', () => seen.length >= 3);
    const ids = [`recheck-${MONITOR}-${due}`, `retry-${MONITOR}-${due}`, `recheck-${OTHER}-${later}`];
    expect(seen.map(({ jobId }) => jobId).toSorted()).toEqual(ids.toSorted());
  });

  test('a removed region leaves nothing in the store, and works when it is used again', async () => {
    const fill = async (): Promise<void> => {
      await queue.schedules.apply([distantWave()]);
      await queue.addChecks(1);
      await queue.producers.addTrigger(queue.region, { triggerId: randomUUID() });
    };
    await fill();
    expect(await queue.producers.listRegions()).toContain(queue.region);
    await queue.producers.removeRegion(queue.region);
    expect(await queue.producers.listRegions()).not.toContain(queue.region);
    // An interrupted removal leaves the queues paused.
    for (const kind of ['check', 'trigger'] as const) await queue.producers.queue(kind, queue.region).pause();
    await fill();
    await queue.schedules.audit(new Set());
    const { seen } = queue.startChecks();
    await until('the check', () => seen.length === 1);
    expect(await queue.producers.queue('trigger', queue.region).isPaused()).toBe(false);
  });

  test('a returned job runs again', async () => {
    const { seen } = queue.startChecks(async ({ again }) => {
      if (!again) throw new JobReturnedError('shutting down');
    });
    await queue.addChecks(1);
    await until('the second run', () => seen.length === 2);
    expect(seen[0]?.jobId).toBe(seen[1]?.jobId);
    expect(seen.map(({ again }) => again)).toEqual([false, true]);
  });

  test('a postponed job runs again a second later, and only once', async () => {
    await queue.schedules.apply([distantWave()]);
    const [planned] = await queue.checks.getDelayed();
    const jobId = planned?.id ?? '';
    await planned?.promote();
    const { seen } = queue.startChecks(async (check) => {
      if (!check.again) throw new JobPostponedError('not now');
    });
    await until('the job to be done', async () => {
      return seen.length > 0 && (await queue.checks.getJob(jobId)) === undefined;
    });
    expect(seen).toMatchObject([
      { jobId, again: false },
      { jobId, again: true },
    ]);
    // The wave's next run is planned once, although its job was taken twice.
    const next = await queue.checks.getDelayed();
    expect(next.map(({ id }) => id)).toEqual([expect.not.stringMatching(jobId)]);
  });

  test('a job that fails is reported with its reason, and is forgotten, so that its id can be used again', async () => {
    const id = randomUUID();
    const failures: string[] = [];
    queue.startWorker({
      kind: 'delivery',
      process: () => Promise.reject(new Error('Failed query: …\nparams: s3cret')),
      onFailed: (_, error) => failures.push(error.message),
    });
    for (const count of [1, 2]) {
      await queue.producers.addDeliveries([id]);
      await until(`failure ${count}`, () => failures.length === count);
      const deliveries = queue.producers.queue('delivery', null);
      await until('the job to be forgotten', async () => (await deliveries.getJob(id)) === undefined);
    }
    expect(failures[0]).toContain('s3cret');
    if (queue.kind !== 'redis') return;
    // Redis keeps a log of events.
    const stored = JSON.stringify(await readTestRedis(queue.url));
    expect(stored).toContain('failed');
    expect(stored).not.toContain('s3cret');
  });

  test('a job continues the trace of its producer', async () => {
    const stopTracing = await startTracingWithoutExport();
    const seen: (string | undefined)[] = [];
    queue.startWorker({
      kind: 'trigger',
      concurrency: 1,
      process: async () => void seen.push(currentTraceparent()),
    });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const add = (): Promise<void> => queue.producers.addTrigger(queue.region, { triggerId: randomUUID() });
    await continueTrace(traceparent, add);
    await add();
    await until('both to be done', () => seen.length === 2);
    expect(new Set(seen)).toEqual(new Set([traceparent, undefined]));
    await stopTracing();
  });

  test('payloads are parsed at both ends', async () => {
    const payload = { triggerId: 'nonsense' };
    await expect(queue.producers.addTrigger(queue.region, payload)).rejects.toThrow();
    const failed: string[] = [];
    queue.startWorker({
      kind: 'trigger',
      process: async () => undefined,
      onFailed: (_, error) => failed.push(error.message),
    });
    await queue.producers.queue('trigger', queue.region).add('trigger', payload);
    await until('the bad payload to fail', () => failed.length === 1);
    expect(failed[0]).toContain('triggerId');
  });

  test('one of two processes acquires the lock of a check, until it is released or expires', async () => {
    const acquire = (jobId: string, fields = {}): Promise<ReleaseLock | null> => {
      const lock = { region: queue.region, monitorId: MONITOR, jobId, forMs: 60_000, ...fields };
      return queue.store.overlapGuard.acquire(lock, PATIENT_MS);
    };
    const release = await acquire('job-1');
    expect(release).not.toBeNull();
    expect(await acquire('job-2')).toBeNull();
    // Another process runs the same job, because the first one was killed.
    expect(await acquire('job-1')).not.toBeNull();
    expect(await acquire('job-2', { region: 'other' })).not.toBeNull();
    await release?.();
    const expired = await acquire('job-3', { forMs: 50 });
    await until('the lock to expire', () => acquire('job-4'));
    // An expired holder must not release the next holder's lock.
    await expired?.();
    expect(await acquire('job-5')).toBeNull();
  });

  test('a store reports its clock right after it was opened', async () => {
    const store = openQueueStore(queue.url, () => undefined, { connectWithinMs: PATIENT_MS });
    const offsetMs = store.readClock().then((clock) => Math.abs(clock - Date.now()));
    await expect(offsetMs).resolves.toBeLessThan(PATIENT_MS);
    await store.close();
  });

  describe('the load', () => {
    const load = (): ReturnType<typeof readRegionLoad> =>
      readRegionLoad(queue.producers, queue.region, PATIENT_MS);
    const run = async (): Promise<void> => undefined;

    test("counts only the current workers for a region's checks", async () => {
      expect(await load()).toEqual({ workers: 0, waiting: 0, lagMs: 0 });
      const first = queue.startWorker({ kind: 'check', process: run });
      queue.startWorker({ kind: 'check', process: run });
      await queue.startWorker({ kind: 'trigger', process: run }).waitUntilReady();
      const region = `${queue.region}-west`;
      const nearby = queue.startWorker({ kind: 'check', region, process: run });
      await nearby.waitUntilReady();
      await until('both workers', async () => (await load()).workers === 2);
      await first.close();
      await until('one worker', async () => (await load()).workers === 1);
    });

    test('does not count workers of another system on the same server', async () => {
      const neighbor = new TestQueue(queue.kind);
      await neighbor.open();
      neighbor.region = queue.region;
      try {
        neighbor.startChecks();
        await until('the neighbor to count it', () => neighbor.producers.countCheckWorkers(queue.region));
        expect(await load()).toMatchObject({ workers: 0 });
      } finally {
        await neighbor.closeWorkers();
        await neighbor.close();
      }
    });

    test('has the number of waiting jobs, and how long the oldest has been due', async () => {
      const now = Date.now();
      await queue.producers.addFirstCheck(queue.region, { monitorId: MONITOR, revision: 1 }, now - 90_000);
      await queue.producers.addFirstCheck(queue.region, { monitorId: OTHER, revision: 1 }, now - 30_000);
      const { lagMs, ...counts } = await load();
      expect(counts).toEqual({ workers: 0, waiting: 2 });
      expect(lagMs).toBeGreaterThanOrEqual(90_000);
      expect(lagMs).toBeLessThanOrEqual(90_000 + Date.now() - now);
      queue.startChecks();
      await until('nothing to wait', async () => (await load()).lagMs === 0 && (await load()).waiting === 0);
    });

    test('has the depth of each queue, as its numbers of waiting and running jobs', async () => {
      const depth = (): ReturnType<typeof readQueueDepth> =>
        readQueueDepth(queue.producers, 'check', queue.region, PATIENT_MS);
      expect(await depth()).toEqual({ waiting: 0, active: 0 });
      queue.startHolding({ concurrency: 1 });
      await queue.addChecks(2);
      await until('one to run', async () => {
        const { waiting, active } = await depth();
        return waiting === 1 && active === 1;
      });
      await queue.producers.addStatusChanges([MONITOR]);
      expect(await readQueueDepth(queue.producers, 'statusChange', null, PATIENT_MS)).toEqual({
        waiting: 1,
        active: 0,
      });
    });
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
