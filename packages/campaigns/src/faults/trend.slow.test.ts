import { expect, test } from '@jest/globals';
import { Random } from '@tocsin/lab/random';
import { trendsOf, type Sample } from './memory.ts';
import { trendOf, type Point } from './trend.ts';

const MB = 1_000_000;
const HOUR_MS = 3_600_000;
const BOUND = 16 * MB;
const SEEDS = Array.from({ length: 30 }, (_, index) => index + 1);

/**
 * Half an hour of heap sizes, one per minute, each measured right after a garbage collection. The heap warms up, and then varies by a
 * megabyte.
 */
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

/** Half an hour with a sample every five seconds. The heap of a checker grows. */
function samples(growthPerHour: number): [number, Sample][] {
  return Array.from({ length: 361 }, (_, index) => {
    const size = 50 * MB + (growthPerHour * index) / 720;
    const values = { 'checker 1, heap': size, 'checker 1, files': 40, 'redis, used': 3 * MB };
    return [index * 5_000, new Map(Object.entries(values))];
  });
}

test.each([
  ['flat', 0, 30, true],
  ['growing', 17, 30, false],
  ['without a verdict in a run that is too short', 17, 9, null],
])('a heap is %s', (_, growthMb, minutes, flat) => {
  const trends = trendsOf(samples(growthMb * MB), minutes);
  const verdicts = Object.fromEntries(trends.map((trend) => [trend.name, trend.flat]));
  const others = flat === null ? null : true;
  expect(verdicts).toEqual({ 'checker 1, heap': flat, 'checker 1, files': others, 'redis, used': others });
});
