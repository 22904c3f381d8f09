import { setTimeout as delay } from 'node:timers/promises';

const FIRST_PAUSE_MS = 25;
const MAX_PAUSE_MS = 100;

export interface WaitForOptions<Found> {
  /** Null for "not yet", undefined for "never". */
  readonly find: () => Promise<Found | null | undefined>;
  readonly forMs: number;
  /** Checked before each query. */
  readonly isWanted: () => boolean;
}

/** Waits until another service has recorded something in Postgres. @returns the result of `find`, or null if it is late or not wanted */
export async function waitFor<Found>(options: WaitForOptions<Found>): Promise<Found | null | undefined> {
  const deadline = performance.now() + options.forMs;
  for (let pauseMs = FIRST_PAUSE_MS; options.isWanted(); pauseMs = Math.min(pauseMs * 1.3, MAX_PAUSE_MS)) {
    const found = await options.find();
    if (found !== null) return found;
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return null;
    await delay(Math.min(pauseMs, leftMs));
  }
  return null;
}
