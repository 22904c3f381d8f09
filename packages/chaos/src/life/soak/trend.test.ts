import { describe, expect, test } from '@jest/globals';
import { Random } from '../../plan/random.ts';
import { trendOf, type Point } from './trend.ts';

const MB = 1_000_000;
const HOUR_MS = 3_600_000;
const BOUND = 16 * MB;

/** Half an hour of a heap, a value every five seconds: it warms up, is noisy, and is collected now and then. */
function heap(seed: number, leakPerHour: number): Point[] {
  const random = new Random(seed);
  const points: Point[] = [];
  let garbage = 0;
  for (let at = 0; at <= HOUR_MS / 2; at += 5_000) {
    garbage = random.chance(0.25) ? 0 : garbage + 3 * MB * random.next();
    const warmUp = 30 * MB * (1 - Math.exp(-at / 240_000));
    points.push({
      at,
      value: 60 * MB + warmUp + garbage + MB * random.next() + (leakPerHour * at) / HOUR_MS,
    });
  }
  return points;
}

const SEEDS = Array.from({ length: 30 }, (_, index) => index + 1);

describe('the verdict over half an hour', () => {
  test.each(SEEDS)('a noisy heap without a leak is flat (seed %d)', (seed) => {
    expect(trendOf(heap(seed, 0), BOUND)).toMatchObject({ flat: true });
  });

  test.each(SEEDS)('one that leaks a little more than the bound is not (seed %d)', (seed) => {
    expect(trendOf(heap(seed, 2 * BOUND), BOUND)).toMatchObject({ flat: false });
  });

  test('a value that stays is flat at any bound, and one single step does not tilt it', () => {
    const steps = Array.from({ length: 360 }, (_, index) => ({ at: index * 5_000, value: 40 }));
    expect(trendOf(steps, 0)).toEqual({ start: 40, end: 40, most: 40, perHour: 0, flat: true });
    const spike = steps.map((point, index) => (index === 350 ? { ...point, value: 500 } : point));
    expect(trendOf(spike, 0)).toMatchObject({ most: 500, perHour: 0, flat: true });
  });

  test('the slope is that of a line', () => {
    const line = Array.from({ length: 100 }, (_, index) => ({ at: index * 1_000, value: index }));
    expect(trendOf(line, 3_599)).toMatchObject({ start: 0, end: 99, perHour: 3_600, flat: false });
    expect(trendOf(line, 3_600.001)).toMatchObject({ flat: true });
  });
});
