const MOST = 2 ** 31 - 1;

/**
 * Where each bucket of a latency histogram begins, in milliseconds: 1 to 19 one by one, then each 1.1 times the one before,
 * rounded down, over all values that a column holds. Stored histograms name buckets by their place here, counted from 1 (as
 * Postgres' `width_bucket` does): what stands in this list never changes.
 */
export const LATENCY_BOUNDS: readonly number[] = makeBounds();

function makeBounds(): number[] {
  const bounds = [1];
  for (let bound = 1; ;) {
    bound = Math.max(bound + 1, Math.floor((bound * 11) / 10));
    if (bound > MOST) return bounds;
    bounds.push(bound);
  }
}

/** The bucket of a latency of at least 1 ms. */
export function latencyBucket(latencyMs: number): number {
  const above = LATENCY_BOUNDS.findIndex((bound) => bound > latencyMs);
  return above === -1 ? LATENCY_BOUNDS.length : above;
}

/** What a bucket stands for, whole milliseconds: at most 5 % off any value in it. */
export function bucketLatency(bucket: number): number {
  const lowest = LATENCY_BOUNDS[bucket - 1];
  if (lowest === undefined) throw new RangeError(`there is no latency bucket ${bucket}`);
  const highest = (LATENCY_BOUNDS[bucket] ?? MOST + 1) - 1;
  return Math.round((lowest + highest) / 2);
}
