import { setTimeout as wait } from 'node:timers/promises';

/** How long a test waits before it reports a hang, in milliseconds. It is no statement about speed. */
const HANG_MS = 120_000;
const POLL_MS = 5;

/**
 * Polls until `condition` holds. The helper of `@tocsin/embedded/testing/until` does more, but that package is built on this one.
 * @param what the awaited condition, for the error message
 * @throws Error if the condition does not hold within two minutes
 */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = Date.now() + HANG_MS;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`Still waiting after ${HANG_MS / 1000} s: ${what}`);
    await wait(POLL_MS);
  }
}
