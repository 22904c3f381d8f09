import { setTimeout as delay } from 'node:timers/promises';

/** Waits until `look` gives something other than null, undefined or false. @throws Error after `withinMs` */
export async function until<Found>(
  look: () => Promise<Found | null | undefined | false> | Found | null | undefined | false,
  withinMs: number = 15_000,
): Promise<Found> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`not so within ${withinMs} ms: ${look.toString()}`);
    await delay(20);
  }
}
