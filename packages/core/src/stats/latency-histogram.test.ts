import { describe, expect, test } from '@jest/globals';
import { fc } from '../testing/fast-check.ts';
import { latencyBucket } from '../testing/latency-bucket.ts';
import {
  bucketLatency,
  DURATION_BOUNDS_MS,
  durationBucketOf,
  LATENCY_BOUNDS,
  type LatencyHistogram,
  latencyQuantile,
  mergeHistograms,
} from './latency-histogram.ts';

const MOST = 2 ** 31 - 1;
const latency = fc.oneof(fc.integer({ min: 1, max: 60_000 }), fc.integer({ min: 1, max: MOST }));
const latencies = fc.array(latency, { minLength: 1, maxLength: 200 });

function histogramOf(values: readonly number[]): LatencyHistogram {
  return mergeHistograms(values.map((value) => new Map([[latencyBucket(value), 1]])));
}

describe('latency buckets', () => {
  test('are the same as in every stored histogram', () => {
    expect(LATENCY_BOUNDS).toHaveLength(216);
    expect(LATENCY_BOUNDS.slice(0, 24)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 26, 28,
    ]);
    expect(LATENCY_BOUNDS.reduce((sum, bound) => (sum * 31 + bound) % 1_000_000_007, 0)).toBe(990_320_583);
  });

  test('contain their values, at most 5 % off their representative', () => {
    fc.assert(
      fc.property(latency, (value) => {
        const bucket = latencyBucket(value);
        expect(LATENCY_BOUNDS[bucket - 1]).toBeLessThanOrEqual(value);
        expect(LATENCY_BOUNDS[bucket] ?? Infinity).toBeGreaterThan(value);
        expect(Math.abs(bucketLatency(bucket) - value) / value).toBeLessThanOrEqual(0.05);
      }),
    );
  });

  test('are exact below 20 ms', () => {
    for (let value = 1; value < 20; value += 1) expect(bucketLatency(latencyBucket(value))).toBe(value);
  });

  test.each([0, -1, 1.5, 1_000])('bucket %d does not exist', (bucket) => {
    expect(() => bucketLatency(bucket)).toThrow(RangeError);
  });
});

describe('latency histograms', () => {
  test('merge into the histogram of all values together', () => {
    fc.assert(
      fc.property(fc.array(latencies, { maxLength: 5 }), (parts) => {
        const entries = (histogram: LatencyHistogram): unknown =>
          [...histogram].toSorted(([one], [other]) => one - other);
        expect(entries(mergeHistograms(parts.map(histogramOf)))).toEqual(entries(histogramOf(parts.flat())));
      }),
    );
  });

  test('give quantiles at most 5 % off', () => {
    fc.assert(
      fc.property(latencies, fc.constantFrom(0.01, 0.5, 0.95, 0.99, 1), (values, part) => {
        const sorted = values.toSorted((one, other) => one - other);
        const truth = sorted[Math.ceil(values.length * part) - 1] ?? 0;
        const estimate = latencyQuantile(histogramOf(values), part) ?? 0;
        expect(Math.abs(estimate - truth) / truth).toBeLessThanOrEqual(0.05);
      }),
    );
  });

  test('without values have no quantile', () => {
    expect(latencyQuantile(new Map(), 0.5)).toBeNull();
    expect(latencyQuantile(mergeHistograms([]), 0.99)).toBeNull();
  });
});

test.each([
  [1, 0],
  [50, 0],
  [51, 1],
  [10_000, 6],
  [10_001, 7],
])('a duration of %i ms is in bucket %i of the histogram for Prometheus', (durationMs, bucket) => {
  expect(durationBucketOf(durationMs)).toBe(bucket);
  expect(DURATION_BOUNDS_MS).toHaveLength(7);
});
