import { createLoop } from './loop.ts';
import type { Loop } from './loop.ts';
import type { Logger } from './logger.ts';

/** An election has this long, from the connection to its result. */
const ACQUIRE_WITHIN_MS = 10_000;

/** Proof of leadership, e.g. a connection that holds a Postgres advisory lock. */
export interface LeaderLease {
  /** False from the moment on when another process may lead. */
  isAlive(): boolean;
  /** Gives leadership up. Never rejects because it is lost already, and never waits for a dead connection. */
  release(): Promise<void>;
  /** Calls back once when the lease is lost without `release`, at once if it already is. Without it, a loss shows at the next retry. */
  onLost?(callback: () => void): void;
}

export interface LeaderLoopOptions {
  /** For the log. */
  readonly name: string;
  /**
   * Tries to become the leader; null while another process leads. The signal is aborted when nobody waits for the result any
   * more: a lease that comes after that is released at once.
   */
  readonly acquire: (signal: AbortSignal) => Promise<LeaderLease | null>;
  /** Aborted when the lease is lost or the loop is asked to stop. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly everyMs: number;
  /** How often a process that does not lead tries to. Default 5 s. */
  readonly retryMs?: number;
  /** How long an election may take. Default 10 s. */
  readonly acquireWithinMs?: number;
  /** Called each time this process becomes the leader, before the first run of the work. */
  readonly onElected?: () => void;
  /** Called once for each lease that is lost, however the loss is noticed. */
  readonly onLost?: () => void;
  readonly logger: Logger;
  /** Called with each error of the work after it was logged, e.g. to count it. */
  readonly onError?: (error: unknown) => void;
}

/** What a process knows about who leads; `unknown`: its last election had no result. */
export type Leadership = 'leader' | 'standby' | 'unknown';

export interface LeaderLoop {
  isLeader(): boolean;
  leadership(): Leadership;
  /** Runs the work at once if this process leads. */
  wake(): void;
  /** Waits for the running work and gives leadership up. */
  stop(): Promise<void>;
}

/** Runs the work regularly in one process at a time; the others stand by. */
export function createLeaderLoop(options: LeaderLoopOptions): LeaderLoop {
  const { name, logger } = options;
  let lease: LeaderLease | null = null;
  /** The last lease whose loss was reported. */
  let reported: LeaderLease | null = null;
  let standby = false;
  let worker: Loop | undefined;

  /** Not the work itself but the standing watch over who leads. */
  const watch = createLoop({
    name: `${name}: electing the leader`,
    everyMs: options.retryMs ?? 5000,
    logger,
    async work(signal) {
      if (lease !== null) {
        if (lease.isAlive()) return;
        reportLoss(lease);
        await resign();
      }
      const acquired = await elect(signal);
      standby = acquired === null;
      if (acquired === null) return;
      lease = acquired;
      // Asked to stop while acquiring: `stop` releases it.
      if (signal.aborted) return;
      logger.info(`Leading ${name}`);
      options.onElected?.();
      const working = createLoop({
        name,
        everyMs: options.everyMs,
        logger,
        // A lost lease may be noticed here before its callback runs.
        work: async (signal) => (acquired.isAlive() ? options.work(signal) : undefined),
        ...(options.onError && { onError: options.onError }),
      });
      worker = working;
      acquired.onLost?.(() => {
        reportLoss(acquired);
        void working.stop();
        watch.wake();
      });
    },
  });

  /** Acquires a lease within the deadline, whatever `acquire` waits for. */
  async function elect(stopped: AbortSignal): Promise<LeaderLease | null> {
    const abandoned = new AbortController();
    const withinMs = options.acquireWithinMs ?? ACQUIRE_WITHIN_MS;
    const late = new Error(`The election had no result after ${withinMs} ms`);
    const timer = setTimeout(() => abandoned.abort(late), withinMs);
    const stop = (): void => abandoned.abort(new Error('The loop stops'));
    stopped.addEventListener('abort', stop, { once: true });
    try {
      const acquiring = options.acquire(abandoned.signal);
      const aborted = new Promise<null>((resolve) => {
        abandoned.signal.addEventListener('abort', () => resolve(null), { once: true });
      });
      const acquired = await Promise.race([acquiring, aborted]);
      if (!abandoned.signal.aborted) return acquired;
      acquiring.then((lease) => lease?.release()).catch(() => undefined);
      throw abandoned.signal.reason;
    } catch (error) {
      standby = false;
      throw error;
    } finally {
      clearTimeout(timer);
      stopped.removeEventListener('abort', stop);
    }
  }

  /** The watch may notice that a lease is over before its callback runs. */
  function reportLoss(lost: LeaderLease): void {
    if (lost === reported) return;
    reported = lost;
    logger.warn(`Lost the lead of ${name}`);
    options.onLost?.();
  }

  async function resign(): Promise<void> {
    await worker?.stop();
    worker = undefined;
    const held = lease;
    lease = null;
    try {
      await held?.release();
    } catch (error) {
      logger.warn(`Could not give up the lead of ${name}`, { error });
    }
  }

  const isLeader = (): boolean => lease?.isAlive() === true;
  return {
    isLeader,
    leadership: () => (isLeader() ? 'leader' : standby ? 'standby' : 'unknown'),
    wake: () => worker?.wake(),
    async stop() {
      await watch.stop();
      await resign();
    },
  };
}
