import type { ApiContext } from './context.ts';

type Queue = Pick<ApiContext, 'producers' | 'logger'>;

/** Lets a notifier send alerts at once. Otherwise its relay finds them. Never throws, never waits. */
export function hintStatusChanges({ producers, logger }: Queue, ids: readonly string[]): void {
  if (ids.length === 0) return;
  producers.addStatusChanges(ids).catch((error: unknown) => {
    logger.debug('Could not hint at status changes', { statusChangeIds: ids, error });
  });
}

export function hintDeliveries({ producers, logger }: Queue, ids: readonly string[]): void {
  if (ids.length === 0) return;
  producers.addDeliveries(ids).catch((error: unknown) => {
    logger.debug('Could not hint at deliveries', { count: ids.length, error });
  });
}
