import type { ApiContext } from '../context.ts';

/** Makes alerts prompt; without the hint the relay finds them (design §4 "Outbox"). */
export function hintStatusChanges(
  { producers, logger }: Pick<ApiContext, 'producers' | 'logger'>,
  statusChangeIds: readonly string[],
): void {
  if (statusChangeIds.length === 0) return;
  producers.addStatusChanges(statusChangeIds).catch((error: unknown) => {
    logger.debug('Could not hint at status changes', { statusChangeIds, error });
  });
}
