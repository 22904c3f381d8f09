import { describe, expect, test } from '@jest/globals';
import { Random } from '@tocsin/lab/random';
import { trendOf, type Point } from './trend.ts';

const MB = 1_000_000;
const HOUR_MS = 3_600_000;
const BOUND = 16 * MB;

/** Half an hour of a heap, a value each minute, right after its garbage was collected: it warms up, and varies by a megabyte. */
function heap(seed: number, leakPerHour: number): Point[] {
  const random = new Random(seed);
  return Array.from({ length: 31 }, (_, minute) => {
    const at = minute * 60_000;
    const warmUp = 30 * MB * (1 - Math.exp(-at / 240_000));
    return { at, value: 60 * MB + warmUp + MB * random.next() + (leakPerHour * at) / HOUR_MS };
  });
}

/** The same for resident memory, every five seconds. In the first 15 s of each minute it is lower by what the collection freed. */
function resident(seed: number, leakPerHour: number): Point[] {
  const random = new Random(seed);
  return Array.from({ length: 31 }).flatMap((_, minute) => {
    const dip = 10 * MB + 40 * MB * random.next();
    return Array.from({ length: 12 }, (_, index) => {
      const at = minute * 60_000 + index * 5_000;
      const kept = 200 * MB + 5 * MB * random.next() + (leakPerHour * at) / HOUR_MS;
      return { at, value: index < 3 ? kept - dip : kept };
    });
  });
}

const SEEDS = Array.from({ length: 30 }, (_, index) => index + 1);

describe('the verdict over half an hour', () => {
  test.each(SEEDS)('a heap without a leak is flat (seed %d)', (seed) => {
    expect(trendOf(heap(seed, 0), BOUND)).toMatchObject({ flat: true });
  });

  test.each(SEEDS)('a heap that leaks 20 MB an hour is not flat (seed %d)', (seed) => {
    expect(trendOf(heap(seed, 20 * MB), BOUND)).toMatchObject({ flat: false });
  });

  test.each(SEEDS)('resident memory that dips is flat unless it also leaks (seed %d)', (seed) => {
    expect(trendOf(resident(seed, 0), BOUND, 'median')).toMatchObject({ flat: true });
    expect(trendOf(resident(seed, 30 * MB), BOUND, 'median')).toMatchObject({ flat: false });
  });

  test('a constant value is flat at any bound, even with a single outlier', () => {
    const steps = Array.from({ length: 360 }, (_, index) => ({ at: index * 5_000, value: 40 }));
    expect(trendOf(steps, 0)).toMatchObject({ start: 40, end: 40, most: 40, perHour: 0, flat: true });
    const spike = steps.map((point, index) => (index === 350 ? { ...point, value: 500 } : point));
    expect(trendOf(spike, 0)).toMatchObject({ most: 500, perHour: 0, flat: true });
  });

  test('a line has its own slope', () => {
    const line = Array.from({ length: 100 }, (_, index) => ({ at: index * 1_000, value: index }));
    expect(trendOf(line, 3_599)).toMatchObject({ start: 0, end: 99, perHour: 3_600, flat: false });
    expect(trendOf(line, 3_600.001)).toMatchObject({ flat: true });
  });
});

/** The lowest values of the last 15 minutes of a soak, one a minute, after as many of its first half. */
function recorded(values: readonly number[]): Point[] {
  return [...values.map(() => 0), ...values].map((value, minute) => ({ at: minute * 60_000, value }));
}

describe('values recorded in a soak on an idle machine', () => {
  test('open files that go up and down are flat', () => {
    const files = [37, 37, 30, 39, 38, 35, 36, 38, 39, 39, 37, 37, 40, 43, 38];
    const trend = trendOf(recorded(files), 12);
    expect(trend.perHour).toBeGreaterThan(12);
    expect(trend.flat).toBe(true);
  });

  test('resident memory that dips less and less at collections is flat', () => {
    const dips = [
      185.7, 147.9, 179.3, 186.4, 189.7, 185.7, 188.4, 186.5, 186.3, 198.4, 195.2, 199.7, 190.9, 184.5, 188.1,
    ];
    const usual = [199, 196, 199, 199, 200, 199, 201, 200, 199, 199, 199, 201, 200, 200, 200];
    const points = (values: readonly number[]): Point[] => recorded(values.map((value) => value * MB));
    expect(trendOf(points(dips), BOUND).flat).toBe(false);
    const all = points(usual).flatMap(({ at, value }, minute) => [
      { at, value: (dips[minute - dips.length] ?? 0) * MB },
      { at: at + 20_000, value },
      { at: at + 40_000, value: value + MB },
    ]);
    expect(trendOf(all, BOUND, 'median').flat).toBe(true);
  });

  test('resident memory that rises all the time grows', () => {
    const resident = [
      195.7, 195.4, 195.2, 196.4, 196.1, 196.8, 197, 197.6, 199, 200, 200.1, 200.1, 201.6, 201.1, 203.1,
    ];
    expect(trendOf(recorded(resident.map((value) => value * MB)), BOUND).flat).toBe(false);
  });
});
