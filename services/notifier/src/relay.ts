import type { ClaimedDelivery, DueScope } from '@tocsin/db/deliveries/claim-deliveries';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { Deliverer } from './deliver/deliverer.ts';
import { createDispatching, type DispatchingOptions } from './dispatching.ts';

const RELAY_EVERY_MS = 500;
/** One claim replaces all attempts that end within this time. */
const GATHER_MS = 5;
/** A relay is stuck if it finishes no round for this long. Failed rounds count as finished. */
const STUCK_AFTER_MS = 60_000;
const MAX_ATTEMPTS = 300;
/** Maximum attempts to channels whose last attempt failed (docs/adr/0005-attempts-per-channel.md). */
const MAX_FAILING_ATTEMPTS = 50;
/** Maximum attempts beyond the tenth of a channel, so that a large backlog leaves room for other channels. */
const MAX_EXCESS_ATTEMPTS = 100;

export interface ClaimingOptions {
  readonly claimDue: (scope: Required<DueScope>) => Promise<ClaimedDelivery[]>;
  readonly deliverer: Pick<Deliverer, 'attempt'>;
  /** Called when an attempt succeeded and another one may start. */
  readonly onSuccess: () => void;
  /** Refused status changes, for which no delivery waits. */
  readonly refusedIds: () => string[];
}

/** Creates the relay's round that claims due deliveries and starts their attempts, which continue in the background. */
export function createClaiming(options: ClaimingOptions): () => Promise<void> {
  const { claimDue, deliverer, onSuccess, refusedIds } = options;
  const running = { all: 0, failing: 0, excess: 0 };
  const endedIds = new Set<string>();

  async function attempt(delivery: ClaimedDelivery): Promise<void> {
    const { id, isChannelFailing, isExcess } = delivery;
    const count = (change: 1 | -1): void => {
      running.all += change;
      if (isChannelFailing) running.failing += change;
      if (isExcess) running.excess += change;
    };
    count(1);
    await deliverer.attempt(delivery, () => {
      endedIds.add(id);
      onSuccess();
    });
    endedIds.delete(id);
    count(-1);
  }

  return async () => {
    const limit = MAX_ATTEMPTS - running.all;
    if (limit <= 0) return;
    const scope = {
      limit,
      failingLimit: Math.max(0, MAX_FAILING_ATTEMPTS - running.failing),
      excessLimit: Math.max(0, MAX_EXCESS_ATTEMPTS - running.excess),
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
