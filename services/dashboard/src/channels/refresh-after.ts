import type { Delivery } from '@tocsin/contracts/channel-delivery';

const SOON_MS = 3_000;
const LATER_MS = 15_000;
const NEAR_MS = 60_000;

/**
 * When a log is to be loaded again: soon while an attempt is near, else now and then. All pages that are shown are loaded
 * anew, so the more there are, the seldomer.
 */
export function refreshAfterMs(
  pages: readonly (readonly Pick<Delivery, 'state' | 'nextAttemptAt'>[])[],
  nowMs: number,
): number {
  const isNear = pages.flat().some(({ state, nextAttemptAt }) => {
    // Without a time it is being attempted.
    const at = nextAttemptAt === null ? nowMs : Date.parse(nextAttemptAt);
    return state === 'pending' && at - nowMs < NEAR_MS;
  });
  return (isNear ? SOON_MS : LATER_MS) * Math.max(1, pages.length);
}
