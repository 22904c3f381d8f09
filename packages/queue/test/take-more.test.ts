import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { startJobWorker, type JobWorker } from '@tocsin/queue/job-worker';
import { openTestStore, type TestStore } from './stores.ts';

const REGION = 'eu-west-1';

describe.each(['redis', 'postgres'] as const)('a worker that takes no more jobs, on %s', (kind) => {
  let store: TestStore;
  let worker: JobWorker;
  /** The running jobs, each with a function that ends it. */
  let running: Map<string, () => void>;
  let others: JobWorker[];

  beforeEach(async () => {
    store = await openTestStore(kind);
    running = new Map();
    others = [];
    worker = start(10, hold);
  });
  afterEach(async () => {
    for (const end of running.values()) end();
    worker.takeMore(true);
    await Promise.all([worker, ...others].map((one) => one.close()));
    await store.close();
  });

  const hold = (jobId: string): Promise<void> => new Promise((resolve) => running.set(jobId, resolve));

  function start(
    concurrency: number,
    run: (jobId: string) => Promise<void>,
    maxConcurrency = concurrency,
  ): JobWorker {
    return startJobWorker(store.stores.forRegion(REGION), {
      kind: 'check',
      region: REGION,
      concurrency,
      maxConcurrency,
      process: (_, jobId) => run(jobId),
      onFailed: () => undefined,
    });
  }

  async function addJobs(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      await store.producers.addFirstCheck(REGION, { monitorId: randomUUID(), revision: 1 }, 1);
    }
  }

  const jobsLeft = (): Promise<number> => store.producers.queue('check', REGION).count();

  function endOne(): void {
    const [first] = running;
    if (!first) throw new Error('nothing runs');
    running.delete(first[0]);
    first[1]();
  }

  test('leaves further jobs to other workers while some of its own run', async () => {
    await addJobs(3);
    await until('three to run', () => running.size === 3);
    worker.takeMore(false);
    await addJobs(5);
    const elsewhere: string[] = [];
    others.push(start(1, async (jobId) => void elsewhere.push(jobId)));
    await until('the others', () => elsewhere.length === 5);
    expect(running.size).toBe(3);
    endOne();
    await addJobs(2);
    await until('the others again', () => elsewhere.length === 7);
    expect(running.size).toBe(2);
  });

  test('takes jobs immediately when it may take more, before any of its jobs ends', async () => {
    await addJobs(2);
    await until('two to run', () => running.size === 2);
    worker.takeMore(false);
    await addJobs(4);
    expect(await jobsLeft()).toBeGreaterThan(0);
    worker.takeMore(true);
    await until('all to run', () => running.size === 6);
  });

  test('takes no job while it is halted, and takes them again afterwards', async () => {
    await addJobs(2);
    await until('two to run', () => running.size === 2);
    worker.halt(true);
    await addJobs(4);
    // Nor when its limits change or its jobs end.
    worker.takeMore(false);
    worker.takeMore(true);
    endOne();
    endOne();
    const elsewhere: string[] = [];
    others.push(start(1, async (jobId) => void elsewhere.push(jobId)));
    await until('the others', () => elsewhere.length === 4);
    expect(running.size).toBe(0);
    await Promise.all(others.map((one) => one.close()));
    await addJobs(3);
    worker.halt(false);
    await until('all to run', () => running.size === 3);
  });

  test('takes no job if it is halted right after its start, and takes them afterwards', async () => {
    const late: string[] = [];
    const halted = start(1, async (jobId) => void late.push(jobId));
    others.push(halted);
    halted.halt(true);
    await until('the worker to be ready', () => halted.waitUntilReady().then(() => true));
    worker.halt(true);
    await addJobs(2);
    halted.halt(false);
    await until('both', () => late.length === 2);
    expect(running.size).toBe(0);
  });

  test('takes one job when none runs, and works after many switches', async () => {
    worker.takeMore(false);
    await addJobs(3);
    await until('one to run', () => running.size === 1);
    await until('the others to be left', async () => (await jobsLeft()) === 2);
    expect(running.size).toBe(1);
    for (let index = 0; index < 50; index += 1) worker.takeMore(index % 2 === 0);
    worker.takeMore(true);
    await until('all to run', () => running.size === 3);
  });

  describe('while jobs only wait', () => {
    beforeEach(async () => {
      await worker.close();
      worker = start(2, hold, 4);
      await addJobs(7);
      await until('two to run', () => running.size === 2);
    });

    test('takes as many further jobs, up to its maximum', async () => {
      worker.exempt();
      await until('one more', () => running.size === 3);
      worker.exempt();
      await until('another one', () => running.size === 4);
      worker.exempt();
      endOne();
      await until('the next one', async () => (await jobsLeft()) === 2);
      expect(running.size).toBe(4);
    });

    test('takes fewer jobs when they no longer wait', async () => {
      const ends = [worker.exempt(), worker.exempt()];
      await until('two more', () => running.size === 4);
      for (const end of ends) end();
      endOne();
      endOne();
      const elsewhere: string[] = [];
      others.push(start(1, async (jobId) => void elsewhere.push(jobId)));
      await until('the others', () => elsewhere.length === 3);
      expect(running.size).toBe(2);
    });

    test('does not look for jobs while it takes no more', async () => {
      worker.takeMore(false);
      worker.exempt();
      const elsewhere: string[] = [];
      others.push(start(1, async (jobId) => void elsewhere.push(jobId)));
      await until('the others', () => elsewhere.length === 5);
      expect(running.size).toBe(2);
      worker.takeMore(true);
      await addJobs(2);
      await Promise.all(others.splice(0).map((one) => one.close()));
      await addJobs(2);
      await until('one more', () => running.size === 3);
    });
  });
});
