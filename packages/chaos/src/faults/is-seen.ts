import { setTimeout as wait } from 'node:timers/promises';

const LOOK_EVERY_MS = 200;

/** Looks until something is seen, or until this time, epoch milliseconds. @returns whether it was seen */
export async function isSeen(until: number, look: () => Promise<boolean>): Promise<boolean> {
  do {
    if (await look()) return true;
    await wait(LOOK_EVERY_MS);
  } while (Date.now() < until);
  return false;
}
