import { retrySlot } from '@tocsin/core/schedule/slots';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import type { Producers } from '@tocsin/queue/producers';
import { batchCalls } from '@tocsin/runtime/batch-calls';
import type { Logger } from '@tocsin/runtime/logger';
import { continueTrace } from '@tocsin/runtime/tracing';

const UNLIMITED = { maxConcurrent: Infinity, maxSize: Infinity };

type RetriedTarget = Pick<CheckTarget, 'monitorId' | 'revision' | 'intervalSeconds' | 'retryIntervalSeconds'>;
type Checks = Parameters<Producers['addExtraChecks']>[2];

/** Adds the retry of an unconfirmed failure, unless the next planned check comes first. @param startedAt epoch milliseconds */
export type Retry = (target: RetriedTarget, region: string, startedAt: number) => Promise<void>;

/** Adds retries in batches, because results of a batch fail together. If the queue is unavailable, the next planned check decides. */
export function createRetry(
  producers: Pick<Producers, 'addExtraChecks'>,
  logger: Logger,
  now: () => number = Date.now,
): Retry {
  const add = async (region: string, checks: Checks): Promise<void[]> => {
    try {
      // The checks of a batch belong to many traces.
      await continueTrace(null, () => producers.addExtraChecks(region, 'retry', checks));
    } catch (error) {
      logger.warn('Could not add retries. The next planned checks decide.', {
        region,
        checks: checks.length,
        error,
      });
    }
    return [];
  };
  const adders = new Map<string, (check: Checks[number]) => Promise<void>>();
  return async (target, region, startedAt) => {
    const slot = retrySlot(target, startedAt, now());
    if (slot === null) return;
    const adder = adders.get(region) ?? batchCalls((checks) => add(region, checks), UNLIMITED);
    adders.set(region, adder);
    await adder({ monitorId: target.monitorId, revision: target.revision, slot });
  };
}
