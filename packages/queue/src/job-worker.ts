import { type JobKind, type JobPayload, JOBS } from '@tocsin/contracts/jobs';
import { withDeadline } from '@tocsin/runtime/timeout';
import { continueTrace } from '@tocsin/runtime/tracing';
import { DelayedError, type Job, WaitingError } from 'bullmq';
import { EXTRA_WORKER, type QueueStore, storedName, type StoredWorker } from './queue-store.ts';

/** The processor returns the job to the queue unfinished, for another worker. */
export class JobReturnedError extends Error {
  override readonly name = 'JobReturnedError';
}

/** The job cannot be done now, through no fault of its own, and is tried again a second later. */
export class JobPostponedError extends Error {
  override readonly name = 'JobPostponedError';
}

/** The failure that the store keeps. It has no message or stack of the cause, which may contain the data to be written. */
class JobFailedError extends Error {
  override readonly name = 'JobFailedError';

  constructor(cause: unknown) {
    super("the job failed: its service's log says why", { cause });
    this.stack = `${this.name}: ${this.message}`;
  }
}

const POSTPONE_MS = 1_000;
/** After an error of the store, such as those of a Redis Cluster that has lost a node. BullMQ's default of 15 s would miss three checks. */
const RETRY_DELAY_MS = 1_000;
/** A job runs again this long after its worker was killed. The lock that was just renewed has to expire first, and then to be found. */
const RUNS_AGAIN_WITHIN_MS = 10_000;
/** How often BullMQ looks for jobs without a lock; one worker of a queue does it for all. */
const STALLED_INTERVAL_MS = 1_000;
const LOCK_MS = RUNS_AGAIN_WITHIN_MS - STALLED_INTERVAL_MS;
/** At shutdown, running jobs have 20 s to end. Recording their results takes a little longer. */
const CLOSE_WITHIN_MS = 23_000;
/** A store that takes longer counts as unavailable. */
const PING_WITHIN_MS = 2_000;
/** BullMQ's concurrency is raised in this many steps, because each step makes the worker look for jobs. */
const STEPS = 20;

/** A worker of BullMQ takes one job in two round trips. This many for each millisecond of a round trip take about 200 jobs per second together. */
const WORKERS_PER_ROUND_TRIP_MS = 0.4;
const MAX_WORKERS = 64;
/** Within this, one worker suffices. */
const NEAR_MS = 5;
/** For a store whose distance is unknown. Too many workers cost only connections; with too few, no check may start. */
const WORKERS_AT_UNKNOWN_DISTANCE = 32;
/** The quickest of several attempts: the others may have waited for the connection, or for this process. */
const ROUND_TRIPS = 3;

/** How many times a vanished worker's job runs again. Jobs of schedulers always run again; the checker abandons them after two crashes. */
const RUNS_AFTER_STALL: Record<JobKind, number> = { check: 3, trigger: 0, statusChange: 3, delivery: 3 };

export interface JobHistory {
  /** How many times a worker vanished, or hung, while it ran this job. */
  readonly stalls: number;
  /** Whether a worker took it before: one that vanished, returned it, or postponed it. */
  readonly again: boolean;
}

export interface JobWorkerOptions<Kind extends JobKind> {
  readonly kind: Kind;
  readonly region: string | null;
  /** Concurrent jobs, some hundreds at most: a single worker takes them all from a backlog before it starts the first, and renews no lock until then. */
  readonly concurrency: number;
  /** How many workers of BullMQ share the jobs; see `workersFor`. Default: 1. */
  readonly workers?: number | undefined;
  /** The limit including jobs that `exempt` was called for. Default: `concurrency`. */
  readonly maxConcurrency?: number;
  /** @throws JobReturnedError or JobPostponedError to run the job again; any other error fails it */
  readonly process: (payload: JobPayload<Kind>, jobId: string, history: JobHistory) => Promise<void>;
  readonly onFailed: (jobId: string, error: Error) => void;
}

/** How many workers take the jobs of a queue, given how far the store is now. */
export async function workersFor(store: QueueStore): Promise<number> {
  // Each worker of a queue in Postgres has connections of its own.
  if (store.kind === 'postgres') return 1;
  let quickestMs = Number.POSITIVE_INFINITY;
  for (let count = 0; count < ROUND_TRIPS; count += 1) {
    const startedAt = performance.now();
    try {
      await withDeadline(store.ping(), PING_WITHIN_MS, 'measuring the distance to the queue');
      quickestMs = Math.min(quickestMs, performance.now() - startedAt);
    } catch {
      // The next attempt may succeed.
    }
  }
  if (!Number.isFinite(quickestMs)) return WORKERS_AT_UNKNOWN_DISTANCE;
  if (quickestMs < NEAR_MS) return 1;
  return Math.min(MAX_WORKERS, Math.ceil(quickestMs * WORKERS_PER_ROUND_TRIP_MS));
}

/** Takes the jobs of one queue, by one worker of BullMQ or several. Its liveness is progress, not an open connection. */
export class JobWorker {
  readonly #workers: readonly StoredWorker[];
  readonly #concurrency: number;
  readonly #maxConcurrency: number;
  #limit: number;
  /** The running jobs of each worker. */
  readonly #runningOf: number[];
  #exempt = 0;
  #more = true;
  #halted = false;
  #running = 0;
  #lastProgressAt = performance.now();

  /** @param workers of which each takes an equal share of the concurrent jobs */
  constructor(workers: readonly StoredWorker[], concurrency: number, maxConcurrency = concurrency) {
    this.#workers = workers;
    this.#concurrency = concurrency;
    this.#maxConcurrency = maxConcurrency;
    this.#limit = concurrency;
    this.#runningOf = workers.map(() => 0);
    this.#shareLimit();
  }

  /** Whether to take jobs while others run. A worker that runs none takes one in any case. */
  takeMore(more: boolean): void {
    if (more === this.#more) return;
    this.#more = more;
    this.#adjust();
  }

  /** Excludes one running job from the limit, because it only waits. @returns a function that includes it again; call it once */
  exempt(): () => void {
    this.#exempt += 1;
    this.#adjust();
    return () => {
      this.#exempt -= 1;
      this.#adjust();
    };
  }

  #adjust(): void {
    const before = this.#limit;
    const step = Math.ceil(this.#concurrency / STEPS);
    const raised = this.#concurrency + Math.floor(this.#exempt / step) * step;
    this.#limit = this.#more ? Math.min(raised, this.#maxConcurrency) : 1;
    if (this.#limit === before) return;
    this.#shareLimit();
    this.#pauseOrResume();
    if (this.#limit < before || this.#halted) return;
    // A worker at its limit sees a higher one only when a job ends, which may be long after. Resuming makes it look now.
    for (const [index, worker] of this.#workers.entries()) {
      if (this.#runningBy(index) < Math.ceil(before / this.#workers.length)) continue;
      worker.pause(true).catch(() => undefined);
      worker.resume().catch(() => undefined);
    }
  }

  /**
   * With several workers, each may run one job more than it runs now, because BullMQ starts no job until it has as many as it may run, or the
   * queue is empty. A single worker may run them all: next to the store, jobs that end take the next ones faster.
   */
  #shareLimit(): void {
    const share = Math.ceil(this.#limit / this.#workers.length);
    for (const [index, worker] of this.#workers.entries())
      worker.concurrency = this.#workers.length === 1 ? share : Math.min(share, this.#runningBy(index) + 1);
  }

  #runningBy(index: number): number {
    return this.#runningOf[index] ?? 0;
  }

  /** Stops taking jobs, or takes them again. Running jobs continue. */
  halt(halted: boolean): void {
    if (halted === this.#halted) return;
    this.#halted = halted;
    this.#pauseOrResume();
  }

  #pauseOrResume(): void {
    for (const [index, worker] of this.#workers.entries()) {
      // While it takes no more jobs, only the first worker may take one, and only if no other runs any: it would have to return the job.
      const othersRun = this.#running > this.#runningBy(0);
      const pauses = this.#halted || (!this.#more && (index > 0 || othersRun));
      if (pauses === worker.isPaused()) continue;
      const changing = pauses ? worker.pause(true) : worker.resume();
      changing.catch(() => undefined);
    }
  }

  get isHalted(): boolean {
    return this.#halted;
  }

  /**
   * @param index of the worker that took the job
   * @throws JobReturnedError if the worker was already waiting for this job when it was halted
   */
  async run(index: number, job: () => Promise<void>): Promise<void> {
    if (this.#halted || (!this.#more && this.#running > 0))
      throw new JobReturnedError('this process takes no more jobs');
    this.#count(index, 1);
    try {
      await job();
    } finally {
      this.#count(index, -1);
    }
  }

  #count(index: number, change: 1 | -1): void {
    this.#running += change;
    this.#runningOf[index] = this.#runningBy(index) + change;
    this.#shareLimit();
    if (!this.#more) this.#pauseOrResume();
    this.noteProgress();
  }

  /** Notes progress within a job: a long job is not necessarily stuck. */
  noteProgress(): void {
    this.#lastProgressAt = performance.now();
  }

  get idleMs(): number {
    return performance.now() - this.#lastProgressAt;
  }

  async waitUntilReady(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.waitUntilReady()));
  }

  /** Stops taking jobs and waits for those that run, but not forever: while the store is unavailable no job ends. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map(closeWorker));
  }
}

async function closeWorker(worker: StoredWorker): Promise<void> {
  try {
    await withDeadline(worker.close(), CLOSE_WITHIN_MS, 'closing a worker');
  } catch {
    // Its jobs stall and are run by another worker.
    worker.close(true).catch(() => undefined);
  }
}

/**
 * Renews the lock of a job that runs again. BullMQ may have stopped: if a process returns a job and takes it again at once, BullMQ ends the
 * renewal for the returned run by the id of the job, and so the renewal for the new run.
 */
async function keepLocked(job: Job, token = '', run: () => Promise<void>): Promise<void> {
  const renewal = setInterval(() => void job.extendLock(token, LOCK_MS).catch(() => undefined), LOCK_MS / 3);
  renewal.unref();
  try {
    await run();
  } finally {
    clearInterval(renewal);
  }
}

/** Starts a worker. If it is killed, the other workers of the queue find its jobs within ten seconds. */
export function startJobWorker<Kind extends JobKind>(
  store: QueueStore,
  options: JobWorkerOptions<Kind>,
): JobWorker {
  const { kind, region, concurrency, maxConcurrency, workers = 1, onFailed } = options;
  const handle = async (index: number, job: Job, token?: string): Promise<void> => {
    try {
      // The catalogue gives each kind its own schema; TypeScript cannot follow the index.
      const payload = JOBS[kind].payload.parse(job.data) as JobPayload<Kind>;
      const history = { stalls: job.stalledCounter, again: job.attemptsStarted > 1 };
      const process = (): Promise<void> => options.process(payload, job.id ?? '', history);
      const run = (): Promise<void> => continueTrace(job.opts.telemetry?.metadata, process);
      await worker.run(index, () => (history.again ? keepLocked(job, token, run) : run()));
    } catch (error) {
      if (error instanceof JobPostponedError) {
        await job.moveToDelayed(Date.now() + POSTPONE_MS, token);
        throw new DelayedError();
      }
      if (!(error instanceof JobReturnedError)) throw new JobFailedError(error);
      await job.moveToWait(token);
      throw new WaitingError();
    }
  };
  const name = storedName(kind, region);
  const stored = Array.from({ length: workers }, (_, index) =>
    store
      .openWorker(name, (job, token) => handle(index, job, token), {
        // One worker looks for stalled jobs, and is counted.
        ...(index > 0 && { name: EXTRA_WORKER, skipStalledCheck: true }),
        concurrency: Math.ceil(concurrency / workers),
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_INTERVAL_MS,
        runRetryDelay: RETRY_DELAY_MS,
        maxStalledCount: RUNS_AFTER_STALL[kind],
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
      })
      .on('failed', (job, error) => {
        const hasCause = error instanceof JobFailedError && error.cause instanceof Error;
        onFailed(job?.id ?? '', hasCause ? (error.cause as Error) : error);
      }),
  );
  const worker = new JobWorker(stored, concurrency, maxConcurrency);
  return worker;
}
