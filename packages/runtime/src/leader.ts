import { once } from 'node:events';
import { createLoop, type Loop } from './loop.ts';
import type { Logger } from './logger.ts';

/** Proof of leadership, such as a connection with a Postgres advisory lock. */
export interface LeaderLease {
  /** False as soon as another process may lead. */
  isAlive(): boolean;
  /** Never rejects because the lease is already lost, and never waits for a dead connection. */
  release(): Promise<void>;
  /** Calls back once when the lease is lost without `release`, or immediately if it already is. */
  onLost?(callback: () => void): void;
}

export interface LeaderLoopOptions {
  readonly name: string;
  /** Resolves to null while another process leads. Must release a lease that arrives after the signal is aborted. */
  readonly acquire: (signal: AbortSignal) => Promise<LeaderLease | null>;
  /** The signal is aborted when the lease is lost or the loop stops. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly everyMs: number;
  /** Interval at which a standby tries to become the leader. Defaults to 5 s. */
  readonly retryMs?: number;
  /** Time limit of an election, including the connection. Defaults to 10 s. */
  readonly acquireWithinMs?: number;
  readonly onElected?: () => void;
  readonly onLost?: () => void;
  readonly logger: Logger;
}

/** `unknown` after an election without a result. */
export type Leadership = 'leader' | 'standby' | 'unknown';

export interface LeaderLoop {
  isLeader(): boolean;
  leadership(): Leadership;
  wake(): void;
  stop(): Promise<void>;
}

/** Runs the work at regular intervals in one process at a time, while the others stand by. */
export function createLeaderLoop(options: LeaderLoopOptions): LeaderLoop {
  const { name, logger, everyMs, retryMs = 5_000, acquireWithinMs = 10_000 } = options;
  let lease: LeaderLease | null = null;
  /** Reported losses are remembered, because the loop may notice a loss before the callback does. */
  let reported: LeaderLease | null = null;
  let isStandby = false;
  let worker: Loop | undefined;
  const election = createLoop({
    name: `${name}: electing the leader`,
    everyMs: retryMs,
    logger,
    work: elect,
  });

  async function elect(stopped: AbortSignal): Promise<void> {
    if (lease !== null) {
      if (lease.isAlive()) return;
      reportLoss(lease);
      await resign();
    }
    const acquired = await acquireInTime(stopped);
    isStandby = acquired === null;
    if (acquired === null) return;
    lease = acquired;
    if (stopped.aborted) return;
    logger.info(`Leading ${name}`);
    options.onElected?.();
    const working = createLoop({
      name,
      everyMs,
      logger,
      work: async (signal) => (acquired.isAlive() ? options.work(signal) : undefined),
    });
    worker = working;
    acquired.onLost?.(() => {
      reportLoss(acquired);
      void working.stop();
      election.wake();
    });
  }

  /** Rejects at the deadline or when the loop stops, even if `acquire` ignores its signal. */
  async function acquireInTime(stopped: AbortSignal): Promise<LeaderLease | null> {
    const abandoned = new AbortController();
    const late = new Error(`The election had no result after ${acquireWithinMs} ms`);
    const timer = setTimeout(() => abandoned.abort(late), acquireWithinMs);
    const stop = (): void => abandoned.abort(new Error('The loop stops'));
    stopped.addEventListener('abort', stop);
    try {
      const acquiring = options.acquire(abandoned.signal);
      const acquired = await Promise.race([acquiring, once(abandoned.signal, 'abort')]);
      if (!abandoned.signal.aborted) return acquired as LeaderLease | null;
      acquiring.then((unused) => unused?.release()).catch(() => undefined);
      throw abandoned.signal.reason;
    } catch (error) {
      isStandby = false;
      throw error;
    } finally {
      clearTimeout(timer);
      stopped.removeEventListener('abort', stop);
    }
  }

  function reportLoss(lost: LeaderLease): void {
    if (lost === reported) return;
    reported = lost;
    logger.warn(`Lost the leadership of ${name}`);
    options.onLost?.();
  }

  async function resign(): Promise<void> {
    await worker?.stop();
    worker = undefined;
    const current = lease;
    lease = null;
    try {
      await current?.release();
    } catch (error) {
      logger.warn(`Could not release the leadership of ${name}`, { error });
    }
  }

  const isLeader = (): boolean => lease?.isAlive() === true;
  return {
    isLeader,
    leadership: () => (isLeader() ? 'leader' : isStandby ? 'standby' : 'unknown'),
    wake: () => worker?.wake(),
    async stop() {
      await election.stop();
      await resign();
    },
  };
}
