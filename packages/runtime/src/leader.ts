import { createLoop } from './loop.ts';
import type { Loop } from './loop.ts';
import type { Logger } from './logger.ts';

/** Proof of leadership, e.g. a connection that holds a Postgres advisory lock. */
export interface LeaderLease {
  isAlive(): boolean;
  /** Gives leadership up. Never rejects because it is lost already. */
  release(): Promise<void>;
  /** Calls back once, when the lease is lost without `release`. Without it, a loss shows at the next run or retry. */
  onLost?(callback: () => void): void;
}

export interface LeaderLoopOptions {
  /** For the log. */
  readonly name: string;
  /** Null while another process leads. */
  readonly acquire: () => Promise<LeaderLease | null>;
  /** Aborted when the lease is lost or the loop is asked to stop. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly everyMs: number;
  /** How often a process that does not lead tries to. Default 5 s. */
  readonly retryMs?: number;
  readonly logger: Logger;
  /** Called with each error of the work after it was logged, e.g. to count it. */
  readonly onError?: (error: unknown) => void;
}

export interface LeaderLoop {
  isLeader(): boolean;
  /** Runs the work at once if this process leads. */
  wake(): void;
  /** Waits for the running work and gives leadership up. */
  stop(): Promise<void>;
}

/** Runs the work regularly in one process at a time; the others stand by. */
export function createLeaderLoop(options: LeaderLoopOptions): LeaderLoop {
  const { name, logger } = options;
  let lease: LeaderLease | null = null;
  let worker: Loop | undefined;

  /** Not the work itself but the standing watch over who leads. */
  const watch = createLoop({
    name: `Becoming the leader of ${name}`,
    everyMs: options.retryMs ?? 5000,
    logger,
    async work(signal) {
      if (lease !== null) {
        if (lease.isAlive()) return;
        await resign();
      }
      const acquired = await options.acquire();
      if (acquired === null) return;
      lease = acquired;
      // Asked to stop while acquiring: `stop` releases it.
      if (signal.aborted) return;
      acquired.onLost?.(() => void lost());
      logger.info(`Leading ${name}`);
      worker = createLoop({
        name,
        everyMs: options.everyMs,
        logger,
        // A lost lease may be noticed here before its callback runs.
        work: async (signal) => (acquired.isAlive() ? options.work(signal) : undefined),
        ...(options.onError && { onError: options.onError }),
      });
    },
  });

  async function lost(): Promise<void> {
    logger.warn(`Lost the lead of ${name}`);
    await worker?.stop();
    watch.wake();
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

  return {
    isLeader: () => lease?.isAlive() === true,
    wake: () => worker?.wake(),
    async stop() {
      await watch.stop();
      await resign();
    },
  };
}
