import type { JobKind } from '@tocsin/contracts/jobs';
import { ASK_WITHIN_MS, withDeadline } from './deadline.ts';
import type { Producers } from './producers.ts';

/** Jobs of one queue. */
export interface QueueDepth {
  /** Due and not started. */
  readonly waiting: number;
  /** Running, or lost with their worker and not yet found. */
  readonly active: number;
}

/**
 * Counts the jobs of a queue.
 * @param region null for queues that have none
 * @param withinMs another time than 1.5 s, for tests
 * @throws Error where the store does not answer in time
 */
export async function readQueueDepth(
  producers: Producers,
  kind: JobKind,
  region: string | null,
  withinMs: number = ASK_WITHIN_MS,
): Promise<QueueDepth> {
  const counting = producers.queue(kind, region).getJobCounts('wait', 'active');
  const counts = await withDeadline(counting, withinMs, 'counting the jobs of a queue');
  return { waiting: counts['wait'] ?? 0, active: counts['active'] ?? 0 };
}
