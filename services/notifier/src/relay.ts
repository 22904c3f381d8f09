import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { Deliverer } from './deliver/deliverer.ts';

/** Attempts that one notifier runs at the same time on the relay's account. */
const MOST_ATTEMPTS = 100;
const DISPATCH_BATCH = 200;

export interface RelayOptions {
  /** Fans out the oldest due status changes. @returns how many there were, and the deliveries made */
  readonly dispatchDue: (limit: number) => Promise<{ statusChanges: number; deliveryIds: string[] }>;
  readonly claimDue: (limit: number) => Promise<ClaimedDelivery[]>;
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
  let running = 0;

  async function attempt(delivery: ClaimedDelivery): Promise<void> {
    running += 1;
    await deliverer.attempt(delivery);
    running -= 1;
  }

  return async function relayOnce() {
    try {
      for (;;) {
        const { statusChanges } = await dispatchDue(DISPATCH_BATCH);
        if (statusChanges < DISPATCH_BATCH) break;
      }
    } finally {
      // What is due already must not wait for trouble with what is still to be made.
      const free = MOST_ATTEMPTS - running;
      if (free > 0) for (const delivery of await claimDue(free)) void attempt(delivery);
    }
  };
}
