import { setTimeout as wait } from 'node:timers/promises';

const POLL_MS = 250;

/**
 * Waits until a condition holds. A check that throws counts as one that does not hold: containers and pods are
 * unreachable while they start. Polls slowly, because each check starts a process.
 * @throws Error that names the condition and what the last check threw
 */
export async function waitUntil(
  what: string,
  withinSeconds: number,
  holds: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + withinSeconds * 1_000;
  let cause: unknown;
  for (;;) {
    try {
      if (await holds()) return;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > deadline) throw new Error(`not within ${withinSeconds} s: ${what}`, { cause });
    await wait(POLL_MS);
  }
}
