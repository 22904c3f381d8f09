import type { JobKind } from '@tocsin/contracts/jobs';
import { slotOfJob } from '@tocsin/core/schedule/slots';
import { ASK_WITHIN_MS, withDeadline } from './deadline.ts';
import type { Producers } from './producers.ts';
import type { StoredQueue } from './queue-store.ts';

/** How a region keeps up with its checks. */
export interface RegionLoad {
  /** Checker processes that take its checks. */
  readonly workers: number;
  /** Jobs of checks that are due and not started: waves, and first checks. */
  readonly waiting: number;
  /** How long the oldest of them has been due, in milliseconds; 0 without any. */
  readonly lagMs: number;
}

/**
 * Reads how a region keeps up from its queue of checks, within 1.5 s.
 * @param withinMs another time, for tests
 * @throws Error where the region's store does not answer in time
 */
export async function readRegionLoad(
  producers: Producers,
  region: string,
  withinMs: number = ASK_WITHIN_MS,
): Promise<RegionLoad> {
  const queue = producers.queue('check', region);
  const read = async (): Promise<RegionLoad> => {
    const [workers, waiting] = await Promise.all([
      producers.countWorkers('check', region),
      queue.getWaitingCount(),
    ]);
    return { workers, waiting, lagMs: waiting === 0 ? 0 : await readLag(queue, waiting) };
  };
  return withDeadline(read(), withinMs, `asking the queue of ${region}`);
}

/** The stores number what waits from different ends: the oldest is at one of the two. */
async function readLag(queue: StoredQueue, waiting: number): Promise<number> {
  const ends = await Promise.all([queue.getWaiting(0, 0), queue.getWaiting(waiting - 1, waiting - 1)]);
  const due = ends.flat().map((job) => slotOfJob(job.id ?? '') ?? job.timestamp);
  const now = Date.now();
  return Math.max(0, now - Math.min(now, ...due));
}

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
