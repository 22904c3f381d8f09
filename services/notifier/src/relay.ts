import type { ClaimedDelivery, DueScope } from '@tocsin/db/deliveries/claim-deliveries';
import type {
  DispatchedStatusChanges,
  DispatchScope,
} from '@tocsin/db/status-changes/dispatch-status-changes';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import { SpanKind, startSpan } from '@tocsin/runtime/tracing';
import type { Deliverer } from './deliver/deliverer.ts';

const RELAY_EVERY_MS = 500;
/** Attempts end one by one, and a delivery may wait for each: one claim handles all that end within this time. */
const GATHER_MS = 5;
/** A relay without a finished round for this long is stuck. A round that fails is finished. */
const STUCK_AFTER_MS = 60_000;
/** Attempts that the relay of one notifier runs at the same time. */
const MAX_ATTEMPTS = 300;
/** The part of them for channels whose last attempt failed, so that the others have the rest (docs/adr/0005-attempts-per-channel.md). */
const MAX_FAILING_ATTEMPTS = 50;
/** The part of them that exceed ten concurrent attempts of their channel, so that a large backlog leaves room for other channels. */
const MAX_EXTRA_ATTEMPTS = 100;
const DISPATCH_BATCH = 200;
const MAX_ANNOUNCED = 10_000;

export interface ClaimingOptions {
  readonly claimDue: (scope: Required<DueScope>) => Promise<ClaimedDelivery[]>;
  readonly deliverer: Pick<Deliverer, 'attempt'>;
  /** Called when a running attempt has succeeded: another one may start. */
  readonly onSuccess: () => void;
}

/** Creates the round of the relay that claims due deliveries and starts their attempts, which continue in the background. */
export function createClaiming({ claimDue, deliverer, onSuccess }: ClaimingOptions): () => Promise<void> {
  const running = { all: 0, failing: 0, extra: 0 };
  const endedIds = new Set<string>();

  async function attempt(delivery: ClaimedDelivery): Promise<void> {
    const { id, isChannelFailing, isExtra } = delivery;
    const count = (change: 1 | -1): void => {
      running.all += change;
      if (isChannelFailing) running.failing += change;
      if (isExtra) running.extra += change;
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
      extraLimit: Math.max(0, MAX_EXTRA_ATTEMPTS - running.extra),
      endedIds: [...endedIds],
    };
    for (const delivery of await claimDue(scope)) void attempt(delivery);
  };
}

export interface RelayOptions extends Omit<ClaimingOptions, 'onSuccess'> {
  /** Creates the deliveries of due status changes. @returns how many status changes there were */
  readonly dispatch: (scope: DispatchScope) => Promise<number>;
  readonly logger: Logger;
}

export interface Relay {
  /** Looks for due deliveries now. */
  wake(): void;
  /** Dispatches a status change that a job named. Many may follow each other. */
  announce(statusChangeId: string): void;
  /** Starts no further round, and resolves when the current ones have ended. */
  stop(): Promise<void>;
  /** @throws Error if the relay is stuck */
  checkProgress(): Promise<void>;
}

/**
 * Starts the loops that do what is due in Postgres, so that alerts are sent while the queue's store is unavailable. One creates deliveries,
 * the other one claims them: neither waits for the other's backlog.
 */
export function startRelay({ dispatch, logger, ...options }: RelayOptions): Relay {
  const announced: string[] = [];
  const claiming = startLoop(
    'Claiming deliveries',
    GATHER_MS,
    logger,
    createClaiming({ ...options, onSuccess: () => claiming.wake() }),
  );
  const dispatching = startLoop(
    'Dispatching status changes',
    0,
    logger,
    createDispatching(announced, dispatch, () => claiming.wake()),
  );
  return {
    wake: () => claiming.wake(),
    announce: (statusChangeId) => {
      // The round that looks for due status changes finds those beyond the limit.
      if (announced.length < MAX_ANNOUNCED) announced.push(statusChangeId);
      dispatching.wake();
    },
    stop: async () => {
      await Promise.all([dispatching.stop(), claiming.stop()]);
    },
    checkProgress: async () => {
      const idleMs = performance.now() - Math.min(claiming.finishedAt(), dispatching.finishedAt());
      if (idleMs > STUCK_AFTER_MS) throw new Error('the relay makes no progress');
    },
  };
}

/** Creates the round that dispatches what is announced, in this order, and regularly what else is due. */
function createDispatching(
  announced: string[],
  dispatch: RelayOptions['dispatch'],
  onDispatched: () => void,
): () => Promise<void> {
  let searchedAt = -Infinity;
  return async () => {
    let more = true;
    while (more) {
      const statusChangeIds = announced.splice(0, DISPATCH_BATCH);
      if (statusChangeIds.length > 0 && (await dispatch({ statusChangeIds })) > 0) onDispatched();
      more = announced.length > 0;
      if (statusChangeIds.length > 0 && performance.now() - searchedAt < RELAY_EVERY_MS) continue;
      const found = await dispatch({ limit: DISPATCH_BATCH });
      if (found > 0) onDispatched();
      if (found >= DISPATCH_BATCH) more = true;
      else searchedAt = performance.now();
    }
  };
}

/** A loop that knows when its last round ended. */
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

/** Dispatches status changes, with a span in the trace of each that has one. The traces are known only afterwards. */
export async function traceDispatch(
  scope: DispatchScope,
  dispatch: (scope: DispatchScope) => Promise<DispatchedStatusChanges>,
): Promise<number> {
  const startTime = Date.now();
  const { statusChanges, traceparents } = await dispatch(scope);
  const attributes = {
    'tocsin.dispatch.by': 'limit' in scope ? 'relay' : 'job',
    'tocsin.dispatch.status_changes': statusChanges,
  };
  for (const parent of traceparents) {
    startSpan('dispatch status change', { kind: SpanKind.CONSUMER, parent, startTime, attributes }).end();
  }
  return statusChanges;
}
