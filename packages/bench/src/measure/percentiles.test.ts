import { describe, expect, test } from '@jest/globals';
import { distributionOf } from './percentiles.ts';

describe('distributionOf', () => {
  test('uses the nearest rank in any order', () => {
    const values = Array.from({ length: 200 }, (_, index) => 200 - index);
    expect(distributionOf(values)).toEqual({ count: 200, p50: 100, p95: 190, p99: 198, max: 200 });
  });

  test('returns a single value as every percentile, and NaN for none', () => {
    expect(distributionOf([7])).toEqual({ count: 1, p50: 7, p95: 7, p99: 7, max: 7 });
    expect(distributionOf([])).toEqual({
      count: 0,
      p50: Number.NaN,
      p95: Number.NaN,
      p99: Number.NaN,
      max: Number.NaN,
    });
  });

  test('sorts values as numbers', () => {
    expect(distributionOf([9, 10, 100, 1_000]).max).toBe(1_000);
  });
});
