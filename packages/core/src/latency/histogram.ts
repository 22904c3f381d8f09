import { bucketLatency } from './buckets.ts';

/** How many checks fell into each latency bucket; buckets without any are left out. */
export type LatencyHistogram = ReadonlyMap<number, number>;

/** The histogram of all that the given ones counted. */
export function mergeHistograms(histograms: Iterable<LatencyHistogram>): LatencyHistogram {
  const merged = new Map<number, number>();
  for (const histogram of histograms) {
    for (const [bucket, count] of histogram) merged.set(bucket, (merged.get(bucket) ?? 0) + count);
  }
  return merged;
}

/**
 * The latency that the given part of the checks did not exceed (nearest rank), in whole milliseconds and at most 5 % off; null
 * of an empty histogram.
 * @param part above 0, at most 1: 0.95 for the 95th percentile
 */
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
