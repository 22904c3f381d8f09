/** The bounds of the histogram of durations, in milliseconds, inclusive. One more bucket has no bound. */
export const DURATION_BOUNDS_MS = [50, 100, 250, 500, 1_000, 2_500, 10_000] as const;

/** The index of the bucket that a duration in milliseconds belongs to; the last one for a duration beyond all bounds. */
export function durationBucketOf(durationMs: number): number {
  const index = DURATION_BOUNDS_MS.findIndex((bound) => durationMs <= bound);
  return index < 0 ? DURATION_BOUNDS_MS.length : index;
}
