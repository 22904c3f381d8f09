import { setTimeout as wait } from 'node:timers/promises';

/** After this time, a test hangs. Even a busy machine finishes within it. */
const HANG_MS = 120_000;
/** Polls become less frequent, because each one may take processor time from the awaited work. */
const POLL_MS = { first: 5, last: 100, growth: 1.2 } as const;

type Poll<Seen> = () => Promise<Seen | null | undefined | false> | Seen | null | undefined | false;

/**
 * Polls `look` until it returns something other than null, undefined or false, and returns that.
 * @param what the awaited condition, for the error message
 * @param hangMs set it only for waits that take minutes even on an idle machine
 * @throws Error if the condition does not hold within `hangMs`
 */
export async function until<Seen>(what: string, look: Poll<Seen>, hangMs = HANG_MS): Promise<Seen> {
  const seen = await seenBefore(Date.now() + hangMs, look);
  if (seen === null) throw new Error(`Still waiting after ${hangMs / 1000} s: ${what}`);
  return seen;
}

/**
 * Polls like `until`, at least once, but ends without an error.
 * @param deadline epoch milliseconds
 * @param pollMs a fixed interval between polls. By default they become less frequent
 * @returns null if the condition did not hold before the deadline
 */
export async function seenBefore<Seen>(
  deadline: number,
  look: Poll<Seen>,
  pollMs?: number,
): Promise<Seen | null> {
  for (let interval: number = POLL_MS.first; ; interval = Math.min(POLL_MS.last, interval * POLL_MS.growth)) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen;
    if (Date.now() > deadline) return null;
    await wait(pollMs ?? interval);
  }
}
