import { setImmediate as nextTurn } from 'node:timers/promises';
import { retrySlot } from '@tocsin/core/schedule/slots';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import type { Producers } from '@tocsin/queue/producers';
import type { Logger } from '@tocsin/runtime/logger';
import { continueTrace } from '@tocsin/runtime/tracing';

type RetriedTarget = Pick<CheckTarget, 'monitorId' | 'revision' | 'intervalSeconds' | 'retryIntervalSeconds'>;
type Checks = Parameters<Producers['addExtraChecks']>[2][number][];

/**
 * Adds the retry of a check that failed without certainty, unless the next planned check comes first. Ends when the queue has it.
 * @param startedAt when the check began, epoch milliseconds
 */
export type Retry = (target: RetriedTarget, region: string, startedAt: number) => Promise<void>;

/** Adds retries in batches: the results of a batch fail together. Without the queue, the next planned check decides. */
export function createRetry(
  producers: Pick<Producers, 'addExtraChecks'>,
  logger: Logger,
  now: () => number = Date.now,
): Retry {
  const batches = new Map<string, { readonly checks: Checks; readonly added: Promise<void> }>();

  async function add(region: string, checks: Checks): Promise<void> {
    await nextTurn();
    batches.delete(region);
    try {
      // The checks of a batch belong to many traces.
      await continueTrace(null, () => producers.addExtraChecks(region, 'retry', checks));
    } catch (error) {
      logger.warn('Adding retries failed; the next planned checks decide', {
        region,
        checks: checks.length,
        error,
      });
    }
  }

  return async (target, region, startedAt) => {
    const slot = retrySlot(target, startedAt, now());
    if (slot === null) return;
    const { monitorId, revision } = target;
    let batch = batches.get(region);
    if (batch === undefined) {
      const checks: Checks = [];
      batch = { checks, added: add(region, checks) };
      batches.set(region, batch);
    }
    batch.checks.push({ monitorId, revision, slot });
    await batch.added;
  };
}
