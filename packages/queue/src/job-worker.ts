import { type JobKind, type JobPayload, JOBS } from '@tocsin/contracts/jobs';
import { withDeadline } from '@tocsin/runtime/timeout';
import { continueTrace } from '@tocsin/runtime/tracing';
import { DelayedError, type Job, WaitingError } from 'bullmq';
import { type QueueStore, storedName, type StoredWorker } from './queue-store.ts';

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
/** BullMQ takes jobs up to its limit before it starts the first one, and renews no lock until then. A slow process would lose the locks. */
const TAKEN_AHEAD = 20;
/** The limit changes in this many steps, because each change makes the worker look for jobs. */
const STEPS = 20;

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
  /** Maximum concurrent jobs. */
  readonly concurrency: number;
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

/** Takes the jobs of one queue. Only progress shows that a worker is alive. An open connection does not. */
export class JobWorker {
  readonly #worker: StoredWorker;
  readonly #concurrency: number;
  readonly #maxConcurrency: number;
  #limit: number;
  #exempt = 0;
  #more = true;
  #halted = false;
  #running = 0;
  #lastProgressAt = performance.now();

  constructor(worker: StoredWorker, concurrency: number, maxConcurrency = concurrency) {
    this.#worker = worker;
    this.#concurrency = concurrency;
    this.#limit = concurrency;
    this.#maxConcurrency = maxConcurrency;
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
    const limit = this.#more ? Math.min(raised, this.#maxConcurrency) : 1;
    if (limit === before) return;
    this.#limit = limit;
    this.#boundTaking();
    if (limit < before || this.#halted || this.#running < before) return;
    // A worker at its limit notices a higher one only when a job ends. Resuming makes it look for jobs now.
    this.#worker.pause(true).catch(() => undefined);
    this.#worker.resume().catch(() => undefined);
  }

  #boundTaking(): void {
    this.#worker.concurrency = Math.min(this.#limit, this.#running + TAKEN_AHEAD);
  }

  /** Stops or resumes taking jobs. Running jobs continue. */
  halt(halted: boolean): void {
    if (halted === this.#halted) return;
    this.#halted = halted;
    const changing = halted ? this.#worker.pause(true) : this.#worker.resume();
    changing.catch(() => undefined);
  }

  get isHalted(): boolean {
    return this.#halted;
  }

  /** @throws JobReturnedError if the worker already waited for this job when it was halted */
  async run(job: () => Promise<void>): Promise<void> {
    if (this.#halted || (!this.#more && this.#running > 0))
      throw new JobReturnedError('this process takes no more jobs');
    this.#running += 1;
    this.#boundTaking();
    this.noteProgress();
    try {
      await job();
    } finally {
      this.#running -= 1;
      this.#boundTaking();
      this.noteProgress();
    }
  }

  /** Records progress within a job, so that a long job does not look stuck. */
  noteProgress(): void {
    this.#lastProgressAt = performance.now();
  }

  get idleMs(): number {
    return performance.now() - this.#lastProgressAt;
  }

  async waitUntilReady(): Promise<void> {
    await this.#worker.waitUntilReady();
  }

  /** Waits for running jobs, but not forever, because no job ends while the store is unavailable. */
  async close(): Promise<void> {
    try {
      await withDeadline(this.#worker.close(), CLOSE_WITHIN_MS, 'closing a worker');
    } catch {
      // Its jobs stall, and another worker runs them.
      this.#worker.close(true).catch(() => undefined);
    }
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
  const { kind, region, concurrency, maxConcurrency, onFailed } = options;
  const handle = async (job: Job, token?: string): Promise<void> => {
    try {
      // TypeScript cannot tell that the schema and the payload have the same kind.
      const payload = JOBS[kind].payload.parse(job.data) as JobPayload<Kind>;
      const history = { stalls: job.stalledCounter, again: job.attemptsStarted > 1 };
      const process = (): Promise<void> => options.process(payload, job.id ?? '', history, worker);
      const run = (): Promise<void> => continueTrace(job.opts.telemetry?.metadata, process);
      await worker.run(() => (history.again ? keepLocked(job, token, run) : run()));
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
  const stored = store.openWorker(storedName(kind, region), handle, {
    concurrency: Math.min(concurrency, TAKEN_AHEAD),
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_INTERVAL_MS,
    runRetryDelay: RETRY_DELAY_MS,
    maxStalledCount: RUNS_AFTER_STALL[kind],
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  stored.on('failed', (job, error) => {
    const hasCause = error instanceof JobFailedError && error.cause instanceof Error;
    onFailed(job?.id ?? '', hasCause ? (error.cause as Error) : error);
  });
  const worker = new JobWorker(stored, concurrency, maxConcurrency);
  return worker;
}
