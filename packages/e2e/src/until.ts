import { setTimeout as wait } from 'node:timers/promises';

/**
 * Waits until `look` sees something, in a bounded loop, and returns that.
 * @throws Error that says what did not come about
 */
export async function until<Seen>(
  what: string,
  look: () => Promise<Seen | null | undefined | false> | Seen | null | undefined | false,
  withinMs = 20_000,
): Promise<Seen> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen;
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await wait(25);
  }
}
