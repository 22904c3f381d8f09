import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { type JobHistory, type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import { type QueueStore, storedName, type StoredWorker } from '@tocsin/queue/queue-store';
import { RegionSchedules } from '@tocsin/queue/schedules';
import type { Job, Processor } from 'bullmq';
import { distantWave, openTestStore, type TestStore } from './stores.ts';

const REGION = 'eu-west-1';

describe.each(['redis', 'postgres'] as const)('a job whose worker died, on %s', (kind) => {
  let store: TestStore;
  let worker: JobWorker | undefined;
  beforeEach(async () => {
    store = await openTestStore(kind);
  });
  afterEach(async () => {
    await worker?.close();
    await store.close();
  });

  /** Starts a worker that takes one check and hangs, and closes it once the check counts as stalled. */
  async function loseOneCheck(): Promise<string> {
    let taken = '';
    let stalled = false;
    const name = storedName('check', REGION);
    const doomed = store.stores.forRegion(REGION).openWorker(
      name,
      (job) => {
        taken = job.id ?? '';
        return new Promise(() => undefined);
      },
      { lockDuration: 50, skipLockRenewal: true, stalledInterval: 50 },
    );
    doomed.on('stalled', () => (stalled = true));
    await until('the check to be lost', () => stalled && taken !== '');
    await doomed.close(true);
    return taken;
  }

  test('runs again, with the number of its stalls', async () => {
    await new RegionSchedules(store.producers, REGION).apply([distantWave()]);
    const [planned] = await store.producers.queue('check', REGION).getDelayed();
    await planned?.promote();
    const lost = [await loseOneCheck(), await loseOneCheck()];
    const seen: ({ jobId: string } & JobHistory)[] = [];
    worker = startJobWorker(store.stores.forRegion(REGION), {
      kind: 'check',
      region: REGION,
      concurrency: 1,
      process: async (_, jobId, history) => void seen.push({ jobId, ...history }),
      onFailed: () => undefined,
    });
    await until('the check', () => seen.length > 0);
    expect(lost).toEqual([planned?.id, planned?.id]);
    expect(seen).toEqual([{ jobId: planned?.id, stalls: 2, again: true }]);
  });

  test('a check that no worker took before has no history', async () => {
    const seen: JobHistory[] = [];
    await store.producers.addFirstCheck(REGION, { monitorId: randomUUID(), revision: 1 }, 1);
    worker = startJobWorker(store.stores.forRegion(REGION), {
      kind: 'check',
      region: REGION,
      concurrency: 1,
      process: async (_payload, _jobId, history) => void seen.push(history),
      onFailed: () => undefined,
    });
    await until('the check', () => seen.length > 0);
    expect(seen).toEqual([{ stalls: 0, again: false }]);
  });
});

describe('the lock of a running job', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** Runs a job for 29 s, as a worker of BullMQ that renews no lock. @returns when its lock was renewed, in seconds */
  async function renewalsOf(attemptsStarted: number): Promise<number[]> {
    let take: Processor<object, void> = () => Promise.reject(new Error('no worker'));
    const openWorker: QueueStore['openWorker'] = (_, processor) => {
      take = processor;
      return { on: () => ({}) } as unknown as StoredWorker;
    };
    startJobWorker({ openWorker } as QueueStore, {
      kind: 'check',
      region: REGION,
      concurrency: 1,
      process: () => new Promise((resolve) => setTimeout(resolve, 29_000)),
      onFailed: () => undefined,
    });
    const startedAt = Date.now();
    const renewals: number[] = [];
    const extendLock: Job['extendLock'] = async (token) => {
      expect(token).toBe('token');
      return renewals.push((Date.now() - startedAt) / 1_000);
    };
    const data = { monitorId: randomUUID(), revision: 1 };
    const job = { id: 'first-1', data, opts: {}, stalledCounter: 0, attemptsStarted, extendLock };
    const running = take(job as unknown as Job<object, void>, 'token');
    await jest.advanceTimersByTimeAsync(30_000);
    await running;
    await jest.advanceTimersByTimeAsync(30_000);
    return renewals;
  }

  test('is renewed until its end if the job was taken before: BullMQ may have ended its renewal', async () => {
    expect(await renewalsOf(2)).toEqual([3, 6, 9, 12, 15, 18, 21, 24, 27]);
  });

  test('is left to BullMQ if the job was not taken before', async () => {
    expect(await renewalsOf(1)).toEqual([]);
  });
});
