import type { ApiContext } from '../context.ts';

/** The relay finds the rest; so many hints are enough to be prompt. */
const MOST_HINTS = 1_000;

/** Makes attempts prompt; without the hint the relay finds them (design §4 "Delivery"). Never throws, never waits. */
export function hintDeliveries(
  { producers, logger }: Pick<ApiContext, 'producers' | 'logger'>,
  ids: readonly string[],
): void {
  producers.addDeliveries(ids.slice(0, MOST_HINTS)).catch((error: unknown) => {
    logger.debug('Could not hint at deliveries', { count: ids.length, error });
  });
}
