import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { slotOfJob } from '@tocsin/core/schedule/slots';
import { until } from '@tocsin/embedded/testing/until';
import {
  JobPostponedError,
  JobReturnedError,
  type JobWorker,
  startJobWorker,
} from '@tocsin/queue/job-worker';
import { RegionSchedules } from '@tocsin/queue/schedules';
import { startTracingWithoutExport } from '@tocsin/runtime/testing/trace-receiver';
import { continueTrace, currentTraceparent } from '@tocsin/runtime/tracing';
import { distantWave, openTestStore, PATIENT_MS, type TestStore } from './stores.ts';

const REGION = 'eu-west-1';

describe.each(['redis', 'postgres'] as const)('the queue on %s', (kind) => {
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

  interface Seen {
    readonly jobId: string;
    readonly again: boolean;
  }

  function startChecks(run: (seen: Seen) => Promise<void> = async () => undefined): Seen[] {
    const seen: Seen[] = [];
    workers.push(
      startJobWorker(store.stores.forRegion(REGION), {
        kind: 'check',
        region: REGION,
        concurrency: 10,
        process: async (_, jobId, { again }) => {
          seen.push({ jobId, again });
          await run({ jobId, again });
        },
        onFailed: () => undefined,
      }),
    );
    return seen;
  }

  test('a first check runs immediately, and only once if it is added repeatedly', async () => {
    const payload = { monitorId: randomUUID(), revision: 1 };
    await store.producers.addFirstCheck(REGION, payload, 1_795_177_316_123);
    await store.producers.addFirstCheck(REGION, payload, 1_795_177_316_123);
    const seen = startChecks();
    await until('the check', () => seen.length >= 1);
    await until('an empty queue', async () => {
      const counts = await store.producers.queue('check', REGION).getJobCounts('wait', 'active', 'delayed');
      return Object.values(counts).every((count) => count === 0);
    });
    expect(seen).toHaveLength(1);
    expect(slotOfJob(seen[0]?.jobId ?? '')).toBe(1_795_177_316_123);
  });

  test('an extra check waits for its slot, and one with the slot of another adds nothing', async () => {
    const [due, later] = [Date.now() - 1_000, Date.now() + 3_600_000];
    const [one, other] = [randomUUID(), randomUUID()];
    const checks = [
      { monitorId: one, revision: 1, slot: due },
      { monitorId: other, revision: 2, slot: later },
    ];
    const queue = store.producers.queue('check', REGION);
    for (const reason of ['recheck', 'recheck', 'retry'] as const) {
      await store.producers.addExtraChecks(REGION, reason, checks.slice(0, reason === 'retry' ? 1 : 2));
    }
    const [delayed, ...others] = await queue.getDelayed();
    expect([delayed?.id, delayed?.data, others]).toEqual([
      `recheck-${other}-${later}`,
      { monitorId: other, revision: 2 },
      [],
    ]);
    const seen = startChecks();
    await until('the checks that are due', () => seen.length >= 2);
    await delayed?.promote();
    await until('the other check', () => seen.length >= 3);
    expect(new Set(seen.map(({ jobId }) => jobId))).toEqual(
      new Set([`recheck-${one}-${due}`, `retry-${one}-${due}`, `recheck-${other}-${later}`]),
    );
    expect(seen).toHaveLength(3);
  });

  test('a returned job runs again', async () => {
    const payload = { monitorId: randomUUID(), revision: 1 };
    let runs = 0;
    const seen = startChecks(async () => {
      runs += 1;
      if (runs === 1) throw new JobReturnedError('shutting down');
    });
    await store.producers.addFirstCheck(REGION, payload, 1);
    await until('the second run', () => seen.length === 2);
    expect(seen[0]?.jobId).toBe(seen[1]?.jobId);
    expect(seen.map(({ again }) => again)).toEqual([false, true]);
  });

  test('a postponed job runs again a second later, and only once', async () => {
    const queue = store.producers.queue('check', REGION);
    await new RegionSchedules(store.producers, REGION).apply([distantWave()]);
    const [planned] = await queue.getDelayed();
    await planned?.promote();
    const seen = startChecks(async (check) => {
      if (!check.again) throw new JobPostponedError(`not now: ${check.jobId}`);
    });
    await until('the job to be done', async () => {
      return seen.length > 0 && (await queue.getJob(planned?.id ?? '')) === undefined;
    });
    expect(seen).toEqual([
      { jobId: planned?.id, again: false },
      { jobId: planned?.id, again: true },
    ]);
    // The next run of its wave is planned once, although it was taken twice.
    const next = await queue.getDelayed();
    expect(next.map(({ id }) => id)).toEqual([expect.not.stringMatching(planned?.id ?? '')]);
  });

  test('a failed job is forgotten, so that its id can be used again', async () => {
    const id = randomUUID();
    const seen: string[] = [];
    workers.push(
      startJobWorker(store.stores.main, {
        kind: 'delivery',
        region: null,
        concurrency: 1,
        process: async ({ deliveryId }) => {
          seen.push(deliveryId);
          await Promise.reject(new Error('fails'));
        },
        onFailed: () => undefined,
      }),
    );
    const queue = store.producers.queue('delivery', null);
    for (const count of [1, 2]) {
      await store.producers.addDeliveries([id]);
      await until(`run ${count}`, () => seen.length === count);
      await until('the job to be forgotten', async () => (await queue.getJob(id)) === undefined);
    }
  });

  test('a job continues the trace of its producer', async () => {
    const stopTracing = await startTracingWithoutExport();
    const seen: (string | undefined)[] = [];
    workers.push(
      startJobWorker(store.stores.forRegion(REGION), {
        kind: 'trigger',
        region: REGION,
        concurrency: 1,
        process: async () => void seen.push(currentTraceparent()),
        onFailed: () => undefined,
      }),
    );
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await continueTrace(traceparent, () => store.producers.addTrigger(REGION, { triggerId: randomUUID() }));
    await store.producers.addTrigger(REGION, { triggerId: randomUUID() });
    await until('both to be done', () => seen.length === 2);
    expect(new Set(seen)).toEqual(new Set([traceparent, undefined]));
    await stopTracing();
  });

  test('payloads are parsed at both ends', async () => {
    await expect(store.producers.addTrigger(REGION, { triggerId: 'nonsense' })).rejects.toThrow();
    const failed: string[] = [];
    workers.push(
      startJobWorker(store.stores.forRegion(REGION), {
        kind: 'trigger',
        region: REGION,
        concurrency: 1,
        process: async () => undefined,
        onFailed: (_, error) => failed.push(error.message),
      }),
    );
    const queue = store.producers.queue('trigger', REGION);
    await queue.add('trigger', { triggerId: 'nonsense' });
    await until('the bad payload to fail', () => failed.length === 1);
    expect(failed[0]).toContain('triggerId');
  });

  test('one of two processes acquires the lock of a check, until it is released or expires', async () => {
    const { overlapGuard } = store.stores.forRegion(REGION);
    const monitorId = randomUUID();
    const release = await overlapGuard.acquire(
      { region: REGION, monitorId, jobId: 'job-1', forMs: 60_000 },
      PATIENT_MS,
    );
    expect(release).not.toBeNull();
    expect(
      await overlapGuard.acquire({ region: REGION, monitorId, jobId: 'job-2', forMs: 60_000 }, PATIENT_MS),
    ).toBeNull();
    // The same job in another process: the one before was killed.
    expect(
      await overlapGuard.acquire({ region: REGION, monitorId, jobId: 'job-1', forMs: 60_000 }, PATIENT_MS),
    ).not.toBeNull();
    expect(
      await overlapGuard.acquire({ region: 'other', monitorId, jobId: 'job-2', forMs: 60_000 }, PATIENT_MS),
    ).not.toBeNull();
    await release?.();
    const expired = await overlapGuard.acquire(
      { region: REGION, monitorId, jobId: 'job-3', forMs: 50 },
      PATIENT_MS,
    );
    let next: Awaited<ReturnType<typeof overlapGuard.acquire>> = null;
    await until('the first to expire', async () => {
      next = await overlapGuard.acquire(
        { region: REGION, monitorId, jobId: 'job-4', forMs: 60_000 },
        PATIENT_MS,
      );
      return next !== null;
    });
    // An expired holder must not release the next holder's lock.
    await expired?.();
    expect(
      await overlapGuard.acquire({ region: REGION, monitorId, jobId: 'job-5', forMs: 60_000 }, PATIENT_MS),
    ).toBeNull();
  });
});
