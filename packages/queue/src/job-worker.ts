import { type JobKind, type JobPayload, JOBS } from '@tocsin/contracts/jobs';
import { withDeadline } from '@tocsin/runtime/timeout';
import { continueTrace } from '@tocsin/runtime/tracing';
import { DelayedError, type Job, WaitingError } from 'bullmq';
import { UNCOUNTED_WORKER, type QueueStore, storedName, type StoredWorker } from './queue-store.ts';

/** Thrown to return a job unfinished, so that another worker takes it. */
export class JobReturnedError extends Error {
  override readonly name = 'JobReturnedError';
}

/** Thrown if a job cannot run now through no fault of its own. It runs again a second later. */
export class JobPostponedError extends Error {
  override readonly name = 'JobPostponedError';
}

/** The failure that the store keeps. It omits the message and stack of the cause, which may contain the data of the job. */
class JobFailedError extends Error {
  override readonly name = 'JobFailedError';

  constructor(cause: unknown) {
    super("the job failed: its service's log says why", { cause });
    this.stack = `${this.name}: ${this.message}`;
  }
}

const POSTPONE_MS = 1_000;
/** Pause after an error of the store, such as a lost node of a Redis Cluster. BullMQ's default of 15 s would miss three checks. */
const RETRY_DELAY_MS = 1_000;
/** The job of a killed worker runs again within this time, after its lock expires and another worker finds it. */
const RUNS_AGAIN_WITHIN_MS = 10_000;
const STALLED_INTERVAL_MS = 1_000;
const LOCK_MS = RUNS_AGAIN_WITHIN_MS - STALLED_INTERVAL_MS;
/** At shutdown, running jobs have 20 s to end, and recording their results takes a little longer. */
const CLOSE_WITHIN_MS = 23_000;
const PING_WITHIN_MS = 2_000;
/** The limit changes in this many steps, because each change makes the worker look for jobs. */
const STEPS = 20;

/** A BullMQ worker takes one job in two round trips. This many workers per millisecond take about 200 jobs per second together. */
const WORKERS_PER_ROUND_TRIP_MS = 0.4;
const MAX_WORKERS = 64;
/** One worker is enough for a store this near. */
const NEAR_MS = 5;
/** Used if the store does not respond. Too many workers only cost connections, but with too few, no check may start. */
const WORKERS_AT_UNKNOWN_DISTANCE = 32;
/** The fastest round trip counts, because the others may have waited for the connection or for this process. */
const ROUND_TRIPS = 3;

/** Maximum repetitions of a job whose worker vanished. Jobs of schedulers always run again, and the checker abandons them after two crashes. */
const RUNS_AFTER_STALL: Record<JobKind, number> = { check: 3, trigger: 0, statusChange: 3, delivery: 3 };

export interface JobHistory {
  /** Number of times that a worker vanished or hung while it ran this job. */
  readonly stalls: number;
  /** True if a worker took the job before and vanished, returned it or postponed it. */
  readonly again: boolean;
}

export interface JobWorkerOptions<Kind extends JobKind> {
  readonly kind: Kind;
  readonly region: string | null;
  /** Maximum concurrent jobs, at most some hundreds. A single worker takes them all from a backlog before it starts the first one. */
  readonly concurrency: number;
  /** BullMQ workers that share the jobs (see `workersFor`). Defaults to 1. */
  readonly workers?: number | undefined;
  /** Limit including exempted jobs. Defaults to `concurrency`. */
  readonly maxConcurrency?: number;
  /** Runs a job of `worker`. @throws JobReturnedError or JobPostponedError to run it again. Any other error fails it */
  readonly process: (
    payload: JobPayload<Kind>,
    jobId: string,
    history: JobHistory,
    worker: JobWorker,
  ) => Promise<void>;
  readonly onFailed: (jobId: string, error: Error) => void;
}

/** Returns how many BullMQ workers the checks need, given the current distance of the store. */
export async function workersFor(store: QueueStore): Promise<number> {
  // Each worker of a Postgres queue has its own connections.
  if (store.kind === 'postgres') return 1;
  let quickestMs = Number.POSITIVE_INFINITY;
  for (let count = 0; count < ROUND_TRIPS; count += 1) {
    const startedAt = performance.now();
    try {
      await withDeadline(store.ping(), PING_WITHIN_MS, 'measuring the distance to the queue');
      quickestMs = Math.min(quickestMs, performance.now() - startedAt);
    } catch {}
  }
  if (!Number.isFinite(quickestMs)) return WORKERS_AT_UNKNOWN_DISTANCE;
  if (quickestMs < NEAR_MS) return 1;
  return Math.min(MAX_WORKERS, Math.ceil(quickestMs * WORKERS_PER_ROUND_TRIP_MS));
}

/** Takes the jobs of one queue with one or more BullMQ workers. Only progress shows that a worker is alive. An open connection does not. */
export class JobWorker {
  readonly #workers: readonly StoredWorker[];
  readonly #concurrency: number;
  readonly #maxConcurrency: number;
  #limit: number;
  readonly #runningOf: number[];
  #exempt = 0;
  #more = true;
  #halted = false;
  #running = 0;
  #lastProgressAt = performance.now();

  constructor(workers: readonly StoredWorker[], concurrency: number, maxConcurrency = concurrency) {
    this.#workers = workers;
    this.#concurrency = concurrency;
    this.#maxConcurrency = maxConcurrency;
    this.#limit = concurrency;
    this.#runningOf = workers.map(() => 0);
    this.#shareLimit();
  }

  /** Sets whether to take jobs while others run. An idle worker always takes one. */
  takeMore(more: boolean): void {
    if (more === this.#more) return;
    this.#more = more;
    this.#adjust();
  }

  /** Excludes a running job from the limit while it only waits. @returns a function to call once, which includes the job again */
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
    // A worker at its limit notices a higher one only when a job ends. Resuming makes it look for jobs now.
    for (const [index, worker] of this.#workers.entries()) {
      if (this.#runningBy(index) < Math.ceil(before / this.#workers.length)) continue;
      worker.pause(true).catch(() => undefined);
      worker.resume().catch(() => undefined);
    }
  }

  /**
   * BullMQ starts no job until it has as many as it may run, or the queue is empty. So each of several workers may run only one more than it
   * runs now. A single worker near the store may run all, because jobs that end take the next ones faster.
   */
  #shareLimit(): void {
    const share = Math.ceil(this.#limit / this.#workers.length);
    for (const [index, worker] of this.#workers.entries())
      worker.concurrency = this.#workers.length === 1 ? share : Math.min(share, this.#runningBy(index) + 1);
  }

  #runningBy(index: number): number {
    return this.#runningOf[index] ?? 0;
  }

  /** Stops or resumes taking jobs. Running jobs continue. */
  halt(halted: boolean): void {
    if (halted === this.#halted) return;
    this.#halted = halted;
    this.#pauseOrResume();
  }

  #pauseOrResume(): void {
    for (const [index, worker] of this.#workers.entries()) {
      // While no more jobs are wanted, only the first worker may take one, and only if the others run none. Otherwise it would have to
      // return the job.
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

  /** @param index of the worker that took the job @throws JobReturnedError if the worker already waited for this job when it was halted */
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

  /** Records progress within a job, so that a long job does not look stuck. */
  noteProgress(): void {
    this.#lastProgressAt = performance.now();
  }

  get idleMs(): number {
    return performance.now() - this.#lastProgressAt;
  }

  async waitUntilReady(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.waitUntilReady()));
  }

  /** Waits for running jobs, but not forever, because no job ends while the store is unavailable. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map(closeWorker));
  }
}

async function closeWorker(worker: StoredWorker): Promise<void> {
  try {
    await withDeadline(worker.close(), CLOSE_WITHIN_MS, 'closing a worker');
  } catch {
    // Its jobs stall, and another worker runs them.
    worker.close(true).catch(() => undefined);
  }
}

/** Renews the lock of a job that runs again, because BullMQ stops renewing it if the same process takes a returned job. */
async function keepLocked(job: Job, token = '', run: () => Promise<void>): Promise<void> {
  const renewal = setInterval(() => void job.extendLock(token, LOCK_MS).catch(() => undefined), LOCK_MS / 3);
  renewal.unref();
  try {
    await run();
  } finally {
    clearInterval(renewal);
  }
}

/** Starts taking jobs. If this process is killed, other workers find its jobs within ten seconds. */
export function startJobWorker<Kind extends JobKind>(
  store: QueueStore,
  options: JobWorkerOptions<Kind>,
): JobWorker {
  const { kind, region, concurrency, maxConcurrency, workers = 1, onFailed } = options;
  const handle = async (index: number, job: Job, token?: string): Promise<void> => {
    try {
      // TypeScript cannot tell that the schema and the payload have the same kind.
      const payload = JOBS[kind].payload.parse(job.data) as JobPayload<Kind>;
      const history = { stalls: job.stalledCounter, again: job.attemptsStarted > 1 };
      const process = (): Promise<void> => options.process(payload, job.id ?? '', history, worker);
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
        // Only the first worker looks for stalled jobs, and is counted.
        ...(index > 0 && { name: UNCOUNTED_WORKER, skipStalledCheck: true }),
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
