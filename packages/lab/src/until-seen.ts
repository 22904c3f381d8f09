import { setTimeout as wait } from 'node:timers/promises';
import { until } from '@tocsin/embedded/testing/until';

const ASK_EVERY_MS = 100;

/**
 * `until` for what only a query or a request can tell. It asks less often, since each question takes processor time from the
 * services that are to get there.
 */
export async function untilSeen<Seen>(
  what: string,
  look: () => Promise<Seen | null | undefined | false>,
): Promise<Seen> {
  let asked = false;
  return until(what, async () => {
    if (asked) await wait(ASK_EVERY_MS);
    asked = true;
    return look();
  });
}
