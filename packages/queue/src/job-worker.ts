import { type JobKind, type JobPayload, JOBS } from '@tocsin/contracts/jobs';
import { DelayedError, type Job, WaitingError } from 'bullmq';
import { withDeadline } from './deadline.ts';
import { storedName } from './queue-store.ts';
import type { QueueStore, StoredWorker } from './queue-store.ts';

/** A job that a processor gives back unfinished, to be run by another worker. */
export class JobReturnedError extends Error {
  override readonly name = 'JobReturnedError';
}

/** A job that cannot be done now, through no fault of its own, and is tried again a little later. */
export class JobPostponedError extends Error {
  override readonly name = 'JobPostponedError';
}

/**
 * How a job's failure is told to the store, which keeps messages and stacks: those of the cause may hold what was to be
 * written (design §4 "Jobs": ids only).
 */
class JobFailedError extends Error {
  override readonly name = 'JobFailedError';

  constructor(cause: unknown) {
    super("the job failed: its service's log says why", { cause });
    this.stack = `${this.name}: ${this.message}`;
  }
}

/** How much later. */
const POSTPONE_MS = 1_000;
/** After an error of the store, as those of a Redis Cluster that has lost a node: BullMQ's own 15 s are three lost intervals. */
const RETRY_DELAY_MS = 1_000;
/**
 * How long after its worker was killed a job runs again (design §4 "Jobs"). A lock that was renewed just before has to end first, and
 * then to be found: both together must fit.
 */
const RUNS_AGAIN_WITHIN_MS = 10_000;
/** BullMQ looks for jobs without a lock so often; one worker of a queue does it for all. */
const LOOK_FOR_STALLED_EVERY_MS = 1_000;
/** At shutdown jobs that run have this long to end (design §4 "Jobs": 20 s, and a little for what follows). */
const CLOSE_WITHIN_MS = 23_000;

/** What became of a job before. */
export interface JobHistory {
  /** How often a worker vanished, or hung, while it ran this job. */
  readonly stalls: number;
  /** Whether a worker took it before: one that vanished, gave it back, begun or not, or postponed it. */
  readonly again: boolean;
}

export interface JobWorkerOptions<Kind extends JobKind> {
  readonly kind: Kind;
  /** Null for queues without a region. */
  readonly region: string | null;
  /**
   * Jobs that run at the same time. Keep it to some hundreds: BullMQ takes all of them from a backlog before it starts the first, and
   * renews no lock of a job that has not started.
   */
  readonly concurrency: number;
  /** Jobs that run at the same time, with those that `exempt` was called for. Default: `concurrency`. */
  readonly maxConcurrency?: number;
  /**
   * @param traceparent of what asked for this job; undefined where that was not told
   * @throws JobReturnedError to give the job back, JobPostponedError for later; any other error fails it
   */
  readonly process: (
    payload: JobPayload<Kind>,
    jobId: string,
    history: JobHistory,
    traceparent: string | undefined,
  ) => Promise<void>;
  readonly onFailed: (jobId: string, error: Error) => void;
}

/**
 * How often a job whose worker vanished is run again (design §4 "Jobs"): a trigger never, a hint a few times, since the relay
 * finds what it was about. Jobs of schedulers are always run again, whatever is said here: the checker gives them up.
 */
const RUNS_AFTER_STALL: Record<JobKind, number> = { check: 3, trigger: 0, statusChange: 3, delivery: 3 };

/** BullMQ's concurrency is raised in this many steps: each makes the worker look for jobs. */
const STEPS = 20;

/** A worker of one queue. Its liveness is progress, not an open connection. */
export class JobWorker {
  readonly queueName: string;
  readonly #worker: StoredWorker;
  readonly #concurrency: number;
  readonly #maxConcurrency: number;
  #exempt = 0;
  #more = true;
  #halted = false;
  #running = 0;
  #lastProgressAt = performance.now();

  /** @param maxConcurrency see `JobWorkerOptions` */
  constructor(worker: StoredWorker, queueName: string, maxConcurrency: number = worker.concurrency) {
    this.#worker = worker;
    this.#concurrency = worker.concurrency;
    this.#maxConcurrency = maxConcurrency;
    this.queueName = queueName;
  }

  /** Whether to take jobs beside those that run; of a worker without any, one is taken all the same. */
  takeMore(more: boolean): void {
    if (more === this.#more) return;
    this.#more = more;
    this.#adjust();
  }

  /**
   * Takes a further job, since one that runs only waits and costs no time of this process.
   * @returns what ends this, to be called once, when the job ends or no longer only waits
   */
  exempt(): () => void {
    this.#exempt += 1;
    this.#adjust();
    return () => {
      this.#exempt -= 1;
      this.#adjust();
    };
  }

  #adjust(): void {
    const before = this.#worker.concurrency;
    const step = Math.ceil(this.#concurrency / STEPS);
    const raised = this.#concurrency + Math.floor(this.#exempt / step) * step;
    const concurrency = this.#more ? Math.min(raised, this.#maxConcurrency) : 1;
    if (concurrency === before) return;
    this.#worker.concurrency = concurrency;
    if (concurrency < before || this.#running < before || this.#halted) return;
    // A worker that runs as many as it may sees a higher concurrency when a job ends, which may be long after: resuming makes it look now.
    this.#worker.pause(true).catch(() => undefined);
    this.#worker.resume().catch(() => undefined);
  }

  /** Takes no job at all from now on, or takes them again; those that run go on. */
  halt(halted: boolean): void {
    if (halted === this.#halted) return;
    this.#halted = halted;
    const changing = halted ? this.#worker.pause(true) : this.#worker.resume();
    changing.catch(() => undefined);
  }

  get isHalted(): boolean {
    return this.#halted;
  }

  /**
   * Runs a job that was taken.
   * @throws JobReturnedError where none was to be taken: the worker was waiting for it when that was said
   */
  async run(job: () => Promise<void>): Promise<void> {
    if (this.#halted || (!this.#more && this.#running > 0))
      throw new JobReturnedError('this process takes no more');
    this.#running += 1;
    this.noteProgress();
    try {
      await job();
    } finally {
      this.#running -= 1;
      this.noteProgress();
    }
  }

  /** That something of a job was done: one may last long and not be stuck. */
  noteProgress(): void {
    this.#lastProgressAt = performance.now();
  }

  /** Milliseconds since a job of this worker, or a part of one, last started or ended. */
  get idleMs(): number {
    return performance.now() - this.#lastProgressAt;
  }

  /** Resolves once the store answers and the worker takes jobs. */
  async waitUntilReady(): Promise<void> {
    await this.#worker.waitUntilReady();
  }

  /** Stops taking jobs and waits for those that run; not for ever, since a store that is away lets no job end. */
  async close(): Promise<void> {
    try {
      await withDeadline(this.#worker.close(), CLOSE_WITHIN_MS, 'closing a worker');
    } catch {
      // Its jobs stall and are run by another worker.
      this.#worker.close(true).catch(() => undefined);
    }
  }
}

/** Starts a worker. The jobs of one that was killed are found by the others, see `RUNS_AGAIN_WITHIN_MS`. */
export function startJobWorker<Kind extends JobKind>(
  store: QueueStore,
  options: JobWorkerOptions<Kind>,
): JobWorker {
  const { kind, region } = options;
  const schema = JOBS[kind].payload;
  const name = storedName(kind, region);
  const handle = async (job: Job, token?: string): Promise<void> => {
    try {
      // The catalogue gives each kind its own schema; TypeScript cannot follow the index.
      const payload = schema.parse(job.data) as JobPayload<Kind>;
      const traceparent = job.opts.telemetry?.metadata;
      const history = { stalls: job.stalledCounter, again: job.attemptsStarted > 1 };
      await worker.run(() => options.process(payload, job.id ?? '', history, traceparent));
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
  const stored = store.openWorker(name, handle, {
    concurrency: options.concurrency,
    lockDuration: RUNS_AGAIN_WITHIN_MS - LOOK_FOR_STALLED_EVERY_MS,
    stalledInterval: LOOK_FOR_STALLED_EVERY_MS,
    runRetryDelay: RETRY_DELAY_MS,
    maxStalledCount: RUNS_AFTER_STALL[kind],
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  stored.on('failed', (job, error) => options.onFailed(job?.id ?? '', causeOf(error)));
  const worker = new JobWorker(stored, name, options.maxConcurrency);
  return worker;
}

function causeOf(error: Error): Error {
  return error instanceof JobFailedError && error.cause instanceof Error ? error.cause : error;
}
