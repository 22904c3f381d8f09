import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { DispatchedStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import { SpanKind, startSpan } from '@tocsin/runtime/tracing';
import type { Deliverer } from './deliver/deliverer.ts';

const RELAY_EVERY_MS = 500;
/** Attempts end one by one, and a delivery may wait for each: one round handles all that end within this time. */
const GATHER_MS = 25;
/** A relay without a finished round for this long is stuck. A round that fails is finished. */
const STUCK_AFTER_MS = 60_000;
/** Attempts that the relay of one notifier runs at the same time. */
const MAX_ATTEMPTS = 100;
/** The part of them for channels whose last attempt failed, so that the others have the rest (docs/adr/0005-attempts-per-channel.md). */
const MAX_FAILING_ATTEMPTS = 50;
const DISPATCH_BATCH = 200;

export interface RelayOptions {
  /** Creates the deliveries of the oldest due status changes. @returns their number, and the deliveries */
  readonly dispatchDue: (limit: number) => Promise<{ statusChanges: number; deliveryIds: string[] }>;
  readonly claimDue: (scope: { limit: number; failingLimit: number }) => Promise<ClaimedDelivery[]>;
  readonly deliverer: Pick<Deliverer, 'attempt'>;
}

/**
 * Creates the round of the relay, which does what is due in Postgres, so that alerts are sent while the queue's store is unavailable.
 * Attempts continue in the background. Those that jobs started do not count against the relay's limit: only the relay makes retries,
 * and they must not wait for receivers that hang.
 */
export function createRelay({ dispatchDue, claimDue, deliverer }: RelayOptions): () => Promise<void> {
  const running = { all: 0, failing: 0 };

  async function attempt(delivery: ClaimedDelivery): Promise<void> {
    const failing = delivery.isChannelFailing ? 1 : 0;
    running.all += 1;
    running.failing += failing;
    await deliverer.attempt(delivery);
    running.all -= 1;
    running.failing -= failing;
  }

  return async () => {
    try {
      while ((await dispatchDue(DISPATCH_BATCH)).statusChanges >= DISPATCH_BATCH);
    } finally {
      // Also if dispatching failed: the deliveries that are due must not wait for it.
      const limit = MAX_ATTEMPTS - running.all;
      const failingLimit = MAX_FAILING_ATTEMPTS - running.failing;
      if (limit > 0) for (const delivery of await claimDue({ limit, failingLimit })) void attempt(delivery);
    }
  };
}

export interface RelayLoop extends Loop {
  /** @throws Error if the relay is stuck */
  checkProgress(): Promise<void>;
}

export function startRelay({ logger, ...options }: RelayOptions & { readonly logger: Logger }): RelayLoop {
  const relay = createRelay(options);
  let finishedAt = performance.now();
  const loop = createLoop({
    name: 'The relay',
    everyMs: RELAY_EVERY_MS,
    gatherMs: GATHER_MS,
    logger,
    work: () => relay().finally(() => (finishedAt = performance.now())),
  });
  return {
    ...loop,
    checkProgress: async () => {
      if (performance.now() - finishedAt > STUCK_AFTER_MS) throw new Error('the relay makes no progress');
    },
  };
}

/** Dispatches status changes, with a span in the trace of each that has one. The traces are known only afterwards. */
export async function traceDispatch(
  by: 'job' | 'relay',
  dispatch: () => Promise<DispatchedStatusChanges>,
): Promise<DispatchedStatusChanges> {
  const startTime = Date.now();
  const dispatched = await dispatch();
  for (const parent of dispatched.traceparents) {
    const attributes = {
      'tocsin.dispatch.by': by,
      'tocsin.dispatch.status_changes': dispatched.statusChanges,
    };
    startSpan('dispatch status change', { kind: SpanKind.CONSUMER, parent, startTime, attributes }).end();
  }
  return dispatched;
}
