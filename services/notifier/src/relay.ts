import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { Deliverer } from './deliver/deliverer.ts';

/** Attempts that one notifier runs at the same time on the relay's account. */
const MOST_ATTEMPTS = 100;
const DISPATCH_BATCH = 200;

export interface RelayOptions {
  /** Fans out the oldest due status changes. @returns how many there were, and the deliveries made */
  readonly dispatchDue: (limit: number) => Promise<{ statusChanges: number; deliveryIds: string[] }>;
  readonly claimDue: (limit: number) => Promise<ClaimedDelivery[]>;
  readonly deliverer: Deliverer;
}

/**
 * One round of the relay: finds in Postgres what no job carried, and does it itself, so that alerts flow while the queue's
 * store is away (design §4 "Delivery"). Attempts go on in the background.
 */
export async function relayOnce(options: RelayOptions): Promise<void> {
  const { dispatchDue, claimDue, deliverer } = options;
  try {
    for (;;) {
      const { statusChanges } = await dispatchDue(DISPATCH_BATCH);
      if (statusChanges < DISPATCH_BATCH) break;
    }
  } finally {
    // What is due already must not wait for trouble with what is still to be made.
    const free = MOST_ATTEMPTS - deliverer.running;
    if (free > 0) for (const delivery of await claimDue(free)) void deliverer.attempt(delivery);
  }
}
