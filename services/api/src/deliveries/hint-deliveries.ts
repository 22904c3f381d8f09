import type { ApiContext } from '../context.ts';

/** Makes attempts prompt; without the hint the relay finds them (design §4 "Delivery"). Never throws, never waits. */
export function hintDeliveries(
  { producers, logger }: Pick<ApiContext, 'producers' | 'logger'>,
  ids: readonly string[],
): void {
  if (ids.length === 0) return;
  producers.addDeliveries(ids).catch((error: unknown) => {
    logger.debug('Could not hint at deliveries', { count: ids.length, error });
  });
}
