import { setTimeout as wait } from 'node:timers/promises';

/**
 * How long a test waits before it reports a hang, in milliseconds. It is no statement about speed: a machine that is busy with
 * something else still gets there in time.
 */
const HANG_MS = 120_000;
const POLL_MS = 20;

/**
 * Polls `look` until it returns something other than null, undefined or false, and returns that.
 * @param what the awaited condition, for the error message
 * @param hangMs only for waits that take minutes even on an idle machine
 * @throws Error if the condition does not hold within `hangMs`
 */
export async function until<Seen>(
  what: string,
  look: () => Promise<Seen | null | undefined | false> | Seen | null | undefined | false,
  hangMs = HANG_MS,
): Promise<Seen> {
  const deadline = Date.now() + hangMs;
  for (;;) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen;
    if (Date.now() > deadline) throw new Error(`Still waiting after ${hangMs / 1000} s: ${what}`);
    await wait(POLL_MS);
  }
}
