/** Batches start this far apart: a transaction costs about the same for one result as for thirty. */
export const BATCH_EVERY_MS = 25;
/** Where Postgres, or this process, is so busy that batches take long, there are fewer and larger ones: so many times as far apart. */
const BATCH_EVERY_DURATIONS = 4;
const MOST_BETWEEN_BATCHES_MS = 100;

/** When the batch after one that took from `startedAt` to `endedAt` may start; all in milliseconds of one clock. */
export function nextBatchAt(startedAt: number, endedAt: number): number {
  const apartMs = Math.max(BATCH_EVERY_MS, (endedAt - startedAt) * BATCH_EVERY_DURATIONS);
  return startedAt + Math.min(apartMs, MOST_BETWEEN_BATCHES_MS);
}
