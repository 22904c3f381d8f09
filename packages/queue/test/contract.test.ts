import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { phaseMs } from '@tocsin/core/schedule/phase';
import { slotOfJob } from '@tocsin/core/schedule/slot';
import {
  JobPostponedError,
  JobReturnedError,
  startJobWorker,
  type JobWorker,
} from '@tocsin/queue/job-worker';
import { RegionSchedules } from '@tocsin/queue/schedules';
import { openTestStore, until, type TestStore } from './stores.ts';

const REGION = 'eu-west-1';

describe.each(['redis', 'postgres'] as const)('the queue on %s', (kind) => {
  let store: TestStore;
  let workers: JobWorker[];
  let schedules: RegionSchedules;

  beforeEach(async () => {
    store = await openTestStore(kind);
    schedules = new RegionSchedules(store.producers, REGION);
    workers = [];
  });
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await store.close();
  });

  interface Seen {
    readonly monitorId: string;
    readonly revision: number;
    readonly jobId: string;
    readonly at: number;
  }

  function startChecks(run: (seen: Seen) => Promise<void> = async () => undefined): Seen[] {
    const seen: Seen[] = [];
    workers.push(
      startJobWorker(store.stores.forRegion(REGION), {
        kind: 'check',
        region: REGION,
        concurrency: 10,
        process: async (payload, jobId) => {
          const check = { ...payload, jobId, at: Date.now() };
          seen.push(check);
          await run(check);
        },
        onFailed: () => undefined,
      }),
    );
    return seen;
  }

  test('a schedule fires on its phase, with its slot in the job id, again and again', async () => {
    const monitorId = randomUUID();
    const seen = startChecks();
    await schedules.apply([{ monitorId, revision: 3, intervalSeconds: 1 }]);
    await until('three checks', () => seen.length >= 3);
    for (const check of seen) {
      expect(check).toMatchObject({ monitorId, revision: 3 });
      const slot = slotOfJob(check.jobId) ?? 0;
      expect(slot % 1_000).toBe(phaseMs(monitorId, 1_000));
      expect(check.at).toBeGreaterThanOrEqual(slot - 20);
    }
    const slots = seen.map((check) => check.jobId);
    expect(new Set(slots).size).toBe(slots.length);
  });

  test('applying again keeps the phase and the one next run; a new revision replaces the payload', async () => {
    const monitorId = randomUUID();
    await schedules.apply([{ monitorId, revision: 1, intervalSeconds: 2 }]);
    await schedules.apply([{ monitorId, revision: 2, intervalSeconds: 2 }]);
    await schedules.apply([{ monitorId, revision: 2, intervalSeconds: 2 }]);
    const seen = startChecks();
    await until('two checks', () => seen.length >= 2);
    expect(new Set(seen.map((check) => check.revision))).toEqual(new Set([2]));
    expect(new Set(seen.map((check) => check.jobId)).size).toBe(seen.length);
  });

  test('a new interval takes effect', async () => {
    const monitorId = randomUUID();
    await schedules.apply([{ monitorId, revision: 1, intervalSeconds: 3_600 }]);
    await schedules.apply([{ monitorId, revision: 2, intervalSeconds: 1 }]);
    const seen = startChecks();
    await until('a check', () => seen.length >= 1);
    expect((slotOfJob(seen[0]?.jobId ?? '') ?? 0) % 1_000).toBe(phaseMs(monitorId, 1_000));
  });

  test('a removed schedule fires no more', async () => {
    const [removed, kept] = [randomUUID(), randomUUID()];
    await schedules.apply([
      { monitorId: removed, revision: 1, intervalSeconds: 1 },
      { monitorId: kept, revision: 1, intervalSeconds: 1 },
    ]);
    await schedules.remove([removed, randomUUID()]);
    const seen = startChecks();
    await until('two checks of the other', () => seen.length >= 2);
    expect(new Set(seen.map((check) => check.monitorId))).toEqual(new Set([kept]));
  });

  test('a first check runs at once, and once however often it is asked for', async () => {
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

  test('an audit finds what is missing, lost and stray, and nothing else', async () => {
    const [fine, missing, stray, lost] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    const schedule = (
      monitorId: string,
    ): { monitorId: string; revision: number; intervalSeconds: number } => ({
      monitorId,
      revision: 1,
      intervalSeconds: 1,
    });
    await schedules.apply([fine, stray, lost].map(schedule));
    const queue = store.producers.queue('check', REGION);
    const jobs = await queue.getDelayed();
    const lostJob = jobs.find((job) => job.id?.includes(lost))?.id ?? '';
    await store.loseJob(queue.name, lostJob);
    const wanted = new Set([fine, missing, lost]);
    await until('the lost run to be overdue', async () => (await schedules.audit(wanted)).lost.length > 0);
    // `fine` is overdue too: no worker runs. Its job waits, so it is not lost.
    expect(await schedules.audit(wanted)).toEqual({ missing: [missing], lost: [lost], stray: [stray] });
    await schedules.apply([schedule(lost)]);
    const seen = startChecks();
    await until('the lost chain to run again', () => seen.some((check) => check.monitorId === lost));
  });

  test('a job that is given back is run again', async () => {
    const payload = { monitorId: randomUUID(), revision: 1 };
    let runs = 0;
    const seen = startChecks(async () => {
      runs += 1;
      if (runs === 1) throw new JobReturnedError('shutting down');
    });
    await store.producers.addFirstCheck(REGION, payload, 1);
    await until('the second run', () => seen.length === 2);
    expect(seen[0]?.jobId).toBe(seen[1]?.jobId);
  });

  test('a job that is postponed is run again a little later, and once', async () => {
    const monitorId = randomUUID();
    const seen = startChecks(async (check) => {
      if (seen.length === 1) throw new JobPostponedError(`not now: ${check.jobId}`);
    });
    await schedules.apply([{ monitorId, revision: 1, intervalSeconds: 2 }]);
    await until('the third run', () => seen.length >= 3);
    const [first, ...later] = seen.map((check) => check.jobId);
    expect(later.filter((jobId) => jobId === first)).toHaveLength(1);
    expect(new Set(later).size).toBe(later.length);
  });

  test('a job that failed is forgotten, so that its id can be used again', async () => {
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

  test('of two processes one enters a check, until it leaves or its time is over', async () => {
    const { overlapGuard } = store.stores.forRegion(REGION);
    const monitorId = randomUUID();
    const leave = await overlapGuard.enter(REGION, monitorId, 'job-1', 60_000);
    expect(leave).not.toBeNull();
    expect(await overlapGuard.enter(REGION, monitorId, 'job-2', 60_000)).toBeNull();
    // The same job in another process: the one before was killed.
    expect(await overlapGuard.enter(REGION, monitorId, 'job-1', 60_000)).not.toBeNull();
    expect(await overlapGuard.enter('other', monitorId, 'job-2', 60_000)).not.toBeNull();
    await leave?.();
    const expired = await overlapGuard.enter(REGION, monitorId, 'job-3', 50);
    let next: Awaited<ReturnType<typeof overlapGuard.enter>> = null;
    await until('the first to expire', async () => {
      next = await overlapGuard.enter(REGION, monitorId, 'job-4', 60_000);
      return next !== null;
    });
    // Whose time is over must not throw the next one out.
    await expired?.();
    expect(await overlapGuard.enter(REGION, monitorId, 'job-5', 60_000)).toBeNull();
  });
});
