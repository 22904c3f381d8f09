import { LATENCY_BOUNDS } from '../stats/latency-histogram.ts';

/** Returns the bucket of a latency of at least 1 ms. */
export function latencyBucket(latencyMs: number): number {
  const above = LATENCY_BOUNDS.findIndex((bound) => bound > latencyMs);
  return above === -1 ? LATENCY_BOUNDS.length : above;
}
