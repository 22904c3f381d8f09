import { setTimeout as delay } from 'node:timers/promises';

const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 100;

export interface WaitForOptions<Found> {
  /** What was waited for, null while it is not there, undefined where it will never be. */
  readonly find: () => Promise<Found | null | undefined>;
  readonly forMs: number;
  /** Asked before each look: whether anybody still wants to know. */
  readonly isWanted: () => boolean;
}

/**
 * Waits until another service has recorded something. Postgres is asked, the truth; the queue's store could only say that a
 * job ended.
 * @returns what `find` found; null: nothing in time, or no longer wanted; undefined: never
 */
export async function waitFor<Found>(options: WaitForOptions<Found>): Promise<Found | null | undefined> {
  const deadline = performance.now() + options.forMs;
  for (
    let pauseMs = FIRST_PAUSE_MS;
    options.isWanted();
    pauseMs = Math.min(pauseMs * 1.3, LONGEST_PAUSE_MS)
  ) {
    const found = await options.find();
    if (found !== null) return found;
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return null;
    await delay(Math.min(pauseMs, leftMs));
  }
  return null;
}
