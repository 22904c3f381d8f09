import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import { type QueueStore, storedName, type StoredWorker } from '@tocsin/queue/queue-store';
import type { Job, Processor } from 'bullmq';
import { distantWave, onBothStores } from './stores.ts';

onBothStores('a worker that takes no more jobs', (queue) => {
  const { running } = queue;
  let worker: JobWorker;
  beforeEach(() => {
    worker = queue.startHolding();
  });

  test('leaves further jobs to other workers while some of its own run', async () => {
    await queue.addChecks(3);
    await until('three to run', () => running.size === 3);
    worker.takeMore(false);
    await queue.addChecks(5);
    const { seen: elsewhere } = queue.startChecks(undefined, { concurrency: 1 });
    await until('the others', () => elsewhere.length === 5);
    expect(running.size).toBe(3);
    queue.endOne();
    await queue.addChecks(2);
    await until('the others again', () => elsewhere.length === 7);
    expect(running.size).toBe(2);
  });

  test('takes jobs immediately when it may take more, before any of its jobs ends', async () => {
    await queue.addChecks(2);
    await until('two to run', () => running.size === 2);
    worker.takeMore(false);
    await queue.addChecks(4);
    expect(await queue.checks.count()).toBeGreaterThan(0);
    worker.takeMore(true);
    await until('all to run', () => running.size === 6);
  });

  test('takes no job while it is halted, and takes them again afterwards', async () => {
    await queue.addChecks(2);
    await until('two to run', () => running.size === 2);
    worker.halt(true);
    await queue.addChecks(4);
    // It also takes none when its limits change or its jobs end.
    worker.takeMore(false);
    worker.takeMore(true);
    queue.endOne();
    queue.endOne();
    const { seen: elsewhere, worker: other } = queue.startChecks();
    await until('the others', () => elsewhere.length === 4);
    expect(running.size).toBe(0);
    await other.close();
    await queue.addChecks(3);
    worker.halt(false);
    await until('all to run', () => running.size === 3);
  });

  test('takes no job if it is halted right after its start, and takes them afterwards', async () => {
    const { seen: late, worker: halted } = queue.startChecks();
    halted.halt(true);
    await halted.waitUntilReady();
    worker.halt(true);
    await queue.addChecks(2);
    halted.halt(false);
    await until('both', () => late.length === 2);
    expect(running.size).toBe(0);
  });

  test('takes one job when none runs, and works after many switches', async () => {
    worker.takeMore(false);
    await queue.addChecks(3);
    await until('one to run', () => running.size === 1);
    await until('the others to be left', async () => (await queue.checks.count()) === 2);
    expect(running.size).toBe(1);
    for (let index = 0; index < 50; index += 1) worker.takeMore(index % 2 === 0);
    worker.takeMore(true);
    await until('all to run', () => running.size === 3);
  });
});

onBothStores('a worker whose jobs only wait', (queue) => {
  const { running } = queue;
  let worker: JobWorker;
  beforeEach(async () => {
    worker = queue.startHolding({ concurrency: 2, maxConcurrency: 4 });
    await queue.addChecks(7);
    await until('two to run', () => running.size === 2);
  });

  test('takes the same number of further jobs, up to its maximum', async () => {
    worker.exempt();
    await until('one more', () => running.size === 3);
    worker.exempt();
    await until('another one', () => running.size === 4);
    worker.exempt();
    queue.endOne();
    await until('the next one', async () => running.size === 4 && (await queue.checks.count()) === 2);
  });

  test('takes fewer jobs when they no longer wait', async () => {
    const ends = [worker.exempt(), worker.exempt()];
    await until('two more', () => running.size === 4);
    for (const end of ends) end();
    queue.endOne();
    queue.endOne();
    const { seen: elsewhere } = queue.startChecks(undefined, { concurrency: 1 });
    await until('the others', () => elsewhere.length === 3);
    expect(running.size).toBe(2);
  });

  test('does not look for jobs while it takes no more', async () => {
    worker.takeMore(false);
    worker.exempt();
    const { seen: elsewhere, worker: other } = queue.startChecks();
    await until('the others', () => elsewhere.length === 5);
    expect(running.size).toBe(2);
    worker.takeMore(true);
    await other.close();
    await queue.addChecks(2);
    await until('one more', () => running.size === 3);
  });
});

onBothStores('a worker with a backlog', (queue) => {
  test('takes few jobs before they start, and as many as its limit in the end', async () => {
    await queue.addChecks(60);
    let [taken, most] = [0, 0];
    const openWorker = queue.store.openWorker.bind(queue.store);
    const opening = jest.spyOn(queue.store, 'openWorker').mockImplementation((...args) =>
      openWorker(...args).on('active', () => {
        taken += 1;
        most = Math.max(most, taken - queue.running.size);
      }),
    );
    queue.startHolding({ concurrency: 50 });
    opening.mockRestore();
    await until('50 to run', async () => queue.running.size === 50 && (await queue.checks.count()) === 10);
    expect(most).toBeLessThanOrEqual(20);
  });
});

onBothStores('a check whose worker died', (queue) => {
  /** Starts a worker that takes one check and hangs, and closes it once the check counts as stalled. */
  async function loseOneCheck(): Promise<string> {
    let taken = '';
    let stalled = false;
    const doomed = queue.store.openWorker(
      storedName('check', queue.region),
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

  test('runs again, and knows how often it stalled', async () => {
    await queue.schedules.apply([distantWave()]);
    const [planned] = await queue.checks.getDelayed();
    await planned?.promote();
    const lost = [await loseOneCheck(), await loseOneCheck()];
    const { seen } = queue.startChecks();
    await until('the check', () => seen.length > 0);
    expect(lost).toEqual([planned?.id, planned?.id]);
    expect(seen).toEqual([{ jobId: planned?.id, stalls: 2, again: true }]);
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
      region: 'eu',
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

  test('is renewed until its end if the job was taken before, because BullMQ may have ended its renewal', async () => {
    expect(await renewalsOf(2)).toEqual([3, 6, 9, 12, 15, 18, 21, 24, 27]);
    expect(await renewalsOf(1)).toEqual([]);
  });
});
