import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe } from '@jest/globals';
import type { JobKind } from '@tocsin/contracts/jobs';
import { slotOfJob, type Wave, waveId } from '@tocsin/core/schedule/slots';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import {
  type JobHistory,
  type JobWorker,
  type JobWorkerOptions,
  startJobWorker,
} from '@tocsin/queue/job-worker';
import { migrateQueue } from '@tocsin/queue/migrate';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import type { QueueStore, StoredQueue } from '@tocsin/queue/queue-store';
import { RegionSchedules } from '@tocsin/queue/schedules';
import { Redis } from 'ioredis';
import { Client } from 'pg';

/** Deadline that even a busy machine does not reach, for tests of something else. */
export const PATIENT_MS = 120_000;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A daily wave that is due in about half a day, so never during a test. @param number distinguishes several */
export function distantWave(number = 0): Wave {
  const hour = Math.floor((Date.now() + DAY_MS / 2) / HOUR_MS) % 24;
  return { intervalSeconds: DAY_MS / 1_000, offsetMs: hour * HOUR_MS + 1 + number * 50 };
}

type StoreKind = 'redis' | 'postgres';

/** Creates an empty database for a store. @returns its URL, and a function that drops it */
export async function createStoreDatabase(
  kind: StoreKind,
): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> {
  const database =
    kind === 'redis'
      ? { ...(await createTestRedis()), drop: async () => undefined }
      : await createTestDatabase();
  await migrateQueue(database.url);
  return database;
}

export async function untilItResponds(store: QueueStore): Promise<void> {
  await until('the store to respond', () => succeeds(store.ping()));
}

/** Reports to `until` whether a promise is fulfilled. */
export function succeeds(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  );
}

interface SeenCheck extends JobHistory {
  readonly jobId: string;
}

interface WaveRun {
  readonly wave: string;
  readonly slot: number;
  readonly at: number;
}

/** A queue in an empty store, with the workers that a test starts. */
export class TestQueue {
  readonly kind: StoreKind;
  url!: string;
  store!: QueueStore;
  producers!: Producers;
  region = '';
  /** Ends the checks that `hold` keeps running. */
  readonly running = new Map<string, () => void>();
  /** Ends each job as soon as it starts. A worker that closes may be about to start one. */
  #endsAtOnce = false;
  #workers: JobWorker[] = [];
  #drop!: () => Promise<void>;

  constructor(kind: StoreKind) {
    this.kind = kind;
  }

  async open(): Promise<void> {
    const { url, drop } = await createStoreDatabase(this.kind);
    this.url = url;
    this.#drop = drop;
    this.store = openQueueStore(url, () => undefined);
    this.producers = new Producers(this.store, PATIENT_MS);
    await untilItResponds(this.store);
  }

  /** Continues with the empty queue of another region. */
  startOver(): void {
    this.region = `region-${randomUUID().slice(0, 8)}`;
    this.#endsAtOnce = false;
  }

  get checks(): StoredQueue {
    return this.producers.queue('check', this.region);
  }

  startWorker<Kind extends JobKind>(
    options: Pick<JobWorkerOptions<Kind>, 'kind' | 'process'> & Partial<JobWorkerOptions<Kind>>,
  ): JobWorker {
    const region = options.kind === 'check' || options.kind === 'trigger' ? this.region : null;
    const worker = startJobWorker(this.store, {
      region,
      concurrency: 10,
      onFailed: () => undefined,
      ...options,
    });
    this.#workers.push(worker);
    return worker;
  }

  /** Starts a worker that takes checks. @returns the worker, and the checks in the order in which they start */
  startChecks(
    run: (check: SeenCheck) => Promise<void> = async () => undefined,
    options: Partial<JobWorkerOptions<'check'>> = {},
  ): { readonly seen: SeenCheck[]; readonly worker: JobWorker } {
    const seen: SeenCheck[] = [];
    const process: JobWorkerOptions<'check'>['process'] = async (_, jobId, history) => {
      seen.push({ jobId, ...history });
      await run({ jobId, ...history });
    };
    return { seen, worker: this.startWorker({ kind: 'check', process, ...options }) };
  }

  /** Starts a worker whose checks run until `endOne`. */
  startHolding(options: Partial<JobWorkerOptions<'check'>> = {}): JobWorker {
    return this.startWorker({
      kind: 'check',
      process: (_, jobId) =>
        new Promise((resolve) => (this.#endsAtOnce ? resolve() : this.running.set(jobId, resolve))),
      ...options,
    });
  }

  endOne(): void {
    const [first] = this.running;
    if (!first) throw new Error('nothing runs');
    this.running.delete(first[0]);
    first[1]();
  }

  async addChecks(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      await this.producers.addFirstCheck(this.region, { monitorId: randomUUID(), revision: 1 }, 1);
    }
  }

  get schedules(): RegionSchedules {
    return new RegionSchedules(this.producers, this.region);
  }

  /** Starts a worker that runs waves. @returns the runs in the order in which they start */
  startWaves(): WaveRun[] {
    const runs: WaveRun[] = [];
    const process: JobWorkerOptions<'check'>['process'] = async (payload, jobId) => {
      if ('monitorId' in payload) throw new TypeError('no wave');
      runs.push({ wave: waveId(payload), slot: slotOfJob(jobId) ?? 0, at: Date.now() });
    };
    this.startWorker({ kind: 'check', process });
    return runs;
  }

  /** Returns the id of the planned job of a wave, or an empty string without one. */
  async plannedJob(wave: Wave): Promise<string> {
    const delayed = await this.checks.getDelayed();
    const [job, ...more] = delayed.filter(({ id }) => id?.startsWith(`repeat:${waveId(wave)}:`));
    if (more.length > 0) throw new Error(`${waveId(wave)} is planned twice`);
    return job?.id ?? '';
  }

  /** Makes the planned runs of these waves due now. */
  async promote(waves: readonly Wave[]): Promise<void> {
    for (const wave of waves) await (await this.checks.getJob(await this.plannedJob(wave)))?.promote();
  }

  /** Removes the planned job of a wave as a crash of the store may, behind BullMQ's back. */
  async lose(wave: Wave): Promise<void> {
    const jobId = await this.plannedJob(wave);
    await (this.kind === 'redis' ? loseInRedis : loseInPostgres)(this.url, this.checks.name, jobId);
  }

  async closeWorkers(): Promise<void> {
    this.#endsAtOnce = true;
    for (const end of this.running.values()) end();
    this.running.clear();
    const workers = this.#workers.splice(0);
    for (const worker of workers) worker.takeMore(true);
    await Promise.all(workers.map((worker) => worker.close()));
  }

  async close(): Promise<void> {
    await this.producers.close();
    await this.store.close();
    await this.#drop();
  }
}

/** Runs the same tests with a queue in Redis and one in Postgres. Each test has an empty queue of checks. */
export function onBothStores(name: string, defineTests: (queue: TestQueue) => void): void {
  describe.each(['redis', 'postgres'] as const)(`${name}, with the queue in %s`, (kind) => {
    const queue = new TestQueue(kind);
    beforeAll(() => queue.open());
    beforeEach(() => queue.startOver());
    afterEach(() => queue.closeWorkers());
    afterAll(() => queue.close());
    defineTests(queue);
  });
}

async function loseInRedis(url: string, queue: string, jobId: string): Promise<void> {
  const redis = new Redis(url);
  try {
    const removed = await redis.zrem(`tocsin:${queue}:delayed`, jobId);
    await redis.del(`tocsin:${queue}:${jobId}`);
    if (removed !== 1) throw new Error(`no delayed job ${jobId}`);
  } finally {
    redis.disconnect();
  }
}

async function loseInPostgres(url: string, queue: string, jobId: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const query = 'delete from bullmq.job where queue = $1 and id = $2';
    const { rowCount } = await client.query(query, [queue, jobId]);
    if (rowCount !== 1) throw new Error(`no job ${jobId}`);
  } finally {
    await client.end();
  }
}
