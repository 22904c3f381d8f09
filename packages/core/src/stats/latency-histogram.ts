const MAX_LATENCY_MS = 2 ** 31 - 1;

/** Lower bounds of the buckets (ms): 1 to 19, then steps of 10 %. Stored histograms refer to positions, counted from 1, so this must never change. */
export const LATENCY_BOUNDS: readonly number[] = makeBounds();

function makeBounds(): number[] {
  const bounds = [1];
  for (let bound = 1; ;) {
    bound = Math.max(bound + 1, Math.floor((bound * 11) / 10));
    if (bound > MAX_LATENCY_MS) return bounds;
    bounds.push(bound);
  }
}

/** Returns the latency that represents a bucket in whole milliseconds, at most 5 % off any value in it. */
export function bucketLatency(bucket: number): number {
  const lowest = LATENCY_BOUNDS[bucket - 1];
  if (lowest === undefined) throw new RangeError(`there is no latency bucket ${bucket}`);
  const highest = (LATENCY_BOUNDS[bucket] ?? MAX_LATENCY_MS + 1) - 1;
  return Math.round((lowest + highest) / 2);
}

/** Number of checks in each latency bucket, without empty buckets. */
export type LatencyHistogram = ReadonlyMap<number, number>;

export function mergeHistograms(histograms: Iterable<LatencyHistogram>): LatencyHistogram {
  const merged = new Map<number, number>();
  for (const histogram of histograms) {
    for (const [bucket, count] of histogram) merged.set(bucket, (merged.get(bucket) ?? 0) + count);
  }
  return merged;
}

/** Returns the latency (ms, accurate to 5 %) of the nearest rank, or null without checks. @param part 0.95 for the 95th percentile */
export function latencyQuantile(histogram: LatencyHistogram, part: number): number | null {
  const buckets = [...histogram].toSorted(([one], [other]) => one - other);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  const rank = Math.ceil(total * part);
  let passed = 0;
  for (const [bucket, count] of buckets) {
    passed += count;
    if (passed >= rank) return bucketLatency(bucket);
  }
  return null;
}

/** Inclusive upper bounds of the Prometheus histogram, in milliseconds. One more bucket has no bound. */
export const DURATION_BOUNDS_MS = [50, 100, 250, 500, 1_000, 2_500, 10_000] as const;

/** Returns the bucket index of a duration in milliseconds. The last one has no bound. */
export function durationBucketOf(durationMs: number): number {
  const index = DURATION_BOUNDS_MS.findIndex((bound) => durationMs <= bound);
  return index < 0 ? DURATION_BOUNDS_MS.length : index;
}
