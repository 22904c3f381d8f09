import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { DispatchedStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { SpanKind, startSpan } from '@tocsin/runtime/tracing';
import type { Deliverer } from './deliver/deliverer.ts';

/** Attempts that one notifier runs at the same time on the relay's account. */
const MOST_ATTEMPTS = 100;
/** Of them those to channels whose last attempt failed: however many of those hang, the others have the rest (ADR 5). */
const MOST_TO_FAILING = 50;
const DISPATCH_BATCH = 200;

export interface RelayOptions {
  /** Fans out the oldest due status changes. @returns how many there were, and the deliveries made */
  readonly dispatchDue: (limit: number) => Promise<{ statusChanges: number; deliveryIds: string[] }>;
  readonly claimDue: (scope: { limit: number; failingLimit: number }) => Promise<ClaimedDelivery[]>;
  readonly deliverer: Pick<Deliverer, 'attempt'>;
}

/** One round of the relay. */
export type Relay = () => Promise<void>;

/**
 * Finds in Postgres what no job carried, and does it itself, so that alerts flow while the queue's store is away (design §4
 * "Delivery"). Attempts go on in the background. Those that jobs brought do not count against the relay's: repetitions come
 * by the relay alone, and must not wait for receivers that hang.
 */
export function createRelay(options: RelayOptions): Relay {
  const { dispatchDue, claimDue, deliverer } = options;
  const running = { all: 0, toFailing: 0 };

  async function attempt(delivery: ClaimedDelivery): Promise<void> {
    const toFailing = delivery.isChannelFailing ? 1 : 0;
    running.all += 1;
    running.toFailing += toFailing;
    await deliverer.attempt(delivery);
    running.all -= 1;
    running.toFailing -= toFailing;
  }

  return async function relayOnce() {
    try {
      for (;;) {
        const { statusChanges } = await dispatchDue(DISPATCH_BATCH);
        if (statusChanges < DISPATCH_BATCH) break;
      }
    } finally {
      // What is due already must not wait for trouble with what is still to be made.
      const limit = MOST_ATTEMPTS - running.all;
      const failingLimit = MOST_TO_FAILING - running.toFailing;
      if (limit > 0) for (const delivery of await claimDue({ limit, failingLimit })) void attempt(delivery);
    }
  };
}

/** Fans out status changes, with a span in the trace of each that has one. The traces are known only afterwards. */
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
