import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { ClaimScope } from '@tocsin/db/deliveries/next-deliveries';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { Deliverer } from './deliver/deliverer.ts';
import { createDispatching, type DispatchingOptions } from './dispatching.ts';

const RELAY_EVERY_MS = 500;
/** One claim replaces all attempts that end within this time. */
const GATHER_MS = 5;
/** A relay is stuck if it finishes no round for this long. Failed rounds count as finished. */
const STUCK_AFTER_MS = 60_000;
/** Attempts at a time that accounts share. */
const CAPACITY = 300;
/** While this many run, nothing is claimed. Attempts beyond the capacity are of accounts within their share (docs/concepts/delivery.md#fair-shares). */
const MAX_ATTEMPTS = 3 * CAPACITY;

export interface ClaimingOptions {
  readonly claimDue: (scope: Required<ClaimScope>) => Promise<ClaimedDelivery[]>;
  readonly deliverer: Pick<Deliverer, 'attempt'>;
  /** Called when an attempt succeeded and another one may start. */
  readonly onSuccess: () => void;
  /** Refused status changes, for which no delivery waits. */
  readonly refusedIds: () => string[];
}

/** Creates the relay's round that claims due deliveries and starts their attempts, which continue in the background. */
export function createClaiming(options: ClaimingOptions): () => Promise<void> {
  const { claimDue, deliverer, onSuccess, refusedIds } = options;
  let running = 0;
  const endedIds = new Set<string>();

  async function attempt(delivery: ClaimedDelivery): Promise<void> {
    running += 1;
    await deliverer.attempt(delivery, () => {
      endedIds.add(delivery.id);
      // Otherwise, another one starts only when this one is recorded.
      if (running < CAPACITY) onSuccess();
    });
    endedIds.delete(delivery.id);
    running -= 1;
  }

  return async () => {
    if (running >= MAX_ATTEMPTS) return;
    const scope = {
      limit: Math.max(0, CAPACITY - running),
      capacity: CAPACITY,
      endedIds: [...endedIds],
      refusedIds: refusedIds(),
    };
    for (const delivery of await claimDue(scope)) void attempt(delivery);
  };
}

export interface RelayOptions
  extends Omit<ClaimingOptions, 'onSuccess' | 'refusedIds'>, Omit<DispatchingOptions, 'onDispatched'> {}

export interface Relay {
  wake(): void;
  announce(): void;
  stop(): Promise<void>;
  /** @throws Error if the relay is stuck */
  checkProgress(): Promise<void>;
}

/**
 * Starts the loops that find due work in Postgres, so that alerts are sent without the queue. One loop creates deliveries and another claims
 * them, so that neither waits for the other's backlog.
 */
export function startRelay(options: RelayOptions): Relay {
  const { logger } = options;
  const { round, refusedIds } = createDispatching({ ...options, onDispatched: () => claiming.wake() });
  const claiming = startLoop(
    'Claiming deliveries',
    GATHER_MS,
    logger,
    createClaiming({ ...options, refusedIds, onSuccess: () => claiming.wake() }),
  );
  let next: NodeJS.Timeout | undefined;
  // A round is one transaction, so that a large backlog shows progress and a shutdown does not wait for it.
  const dispatching = startLoop('Dispatching status changes', 0, logger, async () => {
    clearTimeout(next);
    const nextMs = await round();
    if (nextMs === 0) dispatching.wake();
    else if (nextMs !== null) next = setTimeout(() => dispatching.wake(), nextMs);
  });
  return {
    wake: () => claiming.wake(),
    announce: () => dispatching.wake(),
    stop: async () => {
      await Promise.all([dispatching.stop(), claiming.stop()]);
      clearTimeout(next);
    },
    checkProgress: async () => {
      const idleMs = performance.now() - Math.min(claiming.finishedAt(), dispatching.finishedAt());
      if (idleMs > STUCK_AFTER_MS) throw new Error('the relay makes no progress');
    },
  };
}

function startLoop(
  name: string,
  gatherMs: number,
  logger: Logger,
  round: () => Promise<void>,
): Loop & { finishedAt: () => number } {
  let finishedAt = performance.now();
  const work = (): Promise<void> => round().finally(() => (finishedAt = performance.now()));
  const loop = createLoop({ name, everyMs: RELAY_EVERY_MS, gatherMs, logger, work });
  return { ...loop, finishedAt: () => finishedAt };
}
