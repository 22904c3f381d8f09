import type { JobKind } from '@tocsin/contracts/jobs';
import { isRetry, slotOfJob } from '@tocsin/core/schedule/slots';
import { withDeadline } from '@tocsin/runtime/timeout';
import type { Producers } from './producers.ts';
import type { StoredQueue } from './queue-store.ts';

/** A scrape of the metrics must take less than 2 s in all. */
const READ_WITHIN_MS = 1_500;

export interface RegionLoad {
  readonly workers: number;
  /** Check jobs that are due but not started. */
  readonly waiting: number;
  /** Time since the oldest waiting job was due, or 0 if none waits. */
  readonly lagMs: number;
}

/** @throws Error if the store does not respond in time */
export async function readRegionLoad(
  producers: Producers,
  region: string,
  withinMs: number = READ_WITHIN_MS,
): Promise<RegionLoad> {
  const queue = producers.queue('check', region);
  const read = async (): Promise<RegionLoad> => {
    const counting = [producers.countCheckWorkers(region), queue.getWaitingCount()];
    const [workers = 0, waiting = 0] = await Promise.all(counting);
    return { workers, waiting, lagMs: waiting === 0 ? 0 : await readLag(queue, waiting) };
  };
  return withDeadline(read(), withinMs, `reading the queue of ${region}`);
}

/** Stores list waiting jobs in different directions, so the oldest is the first or the last. */
async function readLag(queue: StoredQueue, waiting: number): Promise<number> {
  const ends = await Promise.all([queue.getWaiting(0, 0), queue.getWaiting(waiting - 1, waiting - 1)]);
  const due = ends.flat().map(({ id = '', timestamp }) => {
    const slot = slotOfJob(id) ?? timestamp;
    // The retry of a long check is added after its slot.
    return isRetry(id) ? Math.max(slot, timestamp) : slot;
  });
  const now = Date.now();
  return Math.max(0, now - Math.min(now, ...due));
}

export interface QueueDepth {
  readonly waiting: number;
  /** Running jobs, including those lost with a worker and not found yet. */
  readonly active: number;
}

/** @throws Error if the store does not respond in time */
export async function readQueueDepth(
  producers: Producers,
  kind: JobKind,
  region: string | null,
  withinMs: number = READ_WITHIN_MS,
): Promise<QueueDepth> {
  const counting = producers.queue(kind, region).getJobCounts('wait', 'active');
  const counts = await withDeadline(counting, withinMs, 'counting the jobs of a queue');
  return { waiting: counts['wait'] ?? 0, active: counts['active'] ?? 0 };
}
