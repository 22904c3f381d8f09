import { describe, expect, test } from '@jest/globals';
import { Random } from '@tocsin/lab/random';
import { describeTrends, growthViolations, trendsOf } from './report.ts';
import type { Sample } from './sample.ts';
import { trendOf, type Point } from './trend.ts';

const MB = 1_000_000;
const HOUR_MS = 3_600_000;
const BOUND = 16 * MB;
const SEEDS = Array.from({ length: 30 }, (_, index) => index + 1);

/** Half an hour of a heap, a value each minute, right after its garbage was collected: it warms up, and varies by a megabyte. */
function heap(seed: number, leakPerHour: number): Point[] {
  const random = new Random(seed);
  return Array.from({ length: 31 }, (_, minute) => {
    const at = minute * 60_000;
    const warmUp = 30 * MB * (1 - Math.exp(-at / 240_000));
    return { at, value: 60 * MB + warmUp + MB * random.next() + (leakPerHour * at) / HOUR_MS };
  });
}

test.each([
  ['without a leak', 0, true],
  ['that leaks 20 MB an hour', 20 * MB, false],
])('a heap %s is judged right after half an hour', (_, leakPerHour, flat) => {
  expect(SEEDS.filter((seed) => trendOf(heap(seed, leakPerHour), BOUND).flat !== flat)).toEqual([]);
});

describe('the report of a soak', () => {
  /** Half an hour with a sample every five seconds, of a checker's heap that grows. */
  function samples(growthPerHour: number): [number, Sample][] {
    return Array.from({ length: 361 }, (_, index) => {
      const heap = 50 * MB + (growthPerHour * index) / 720;
      const values = { 'checker 1, heap': heap, 'checker 1, files': 40, 'redis, used': 3 * MB };
      return [index * 5_000, new Map(Object.entries(values))];
    });
  }

  test.each([
    ['a flat value is no violation', 0, 30, [], '| checker 1, heap | 50 | 50 | 50 | 0 | 16 | flat |'],
    ['a growing value is one', 17, 30, ['checker 1, heap grows'], '**GROWS**'],
    ['a run that is too short has no verdict', 17, 9, [], '–'],
  ])('%s', (_, growthMb, minutes, violations, row) => {
    const trends = trendsOf(samples(growthMb * MB));
    const found = growthViolations(minutes, trends, { unavailable: 0 });
    expect(found).toEqual(violations.map((detail) => ({ invariant: 'nothing grows', detail })));
    expect(describeTrends(minutes, trends)).toContain(row);
  });

  test('refused live streams are a violation', () => {
    expect(growthViolations(30, trendsOf(samples(0)), { unavailable: 1 })).toEqual([
      { invariant: 'the api accepts live streams', detail: '1 streams were refused with 503' },
    ]);
  });
});
