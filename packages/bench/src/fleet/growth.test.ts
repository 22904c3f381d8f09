import { describe, expect, test } from '@jest/globals';
import { growthOf } from './growth.ts';

const MINUTE_MS = 60_000;

function points(valueOf: (minute: number) => number) {
  return Array.from({ length: 101 }, (_, minute) => ({ at: minute * MINUTE_MS, value: valueOf(minute) }));
}

describe('growthOf', () => {
  test.each([
    ['a constant', () => 200, 0, 0],
    ['a leak of 1 a minute', (minute: number) => 200 + minute, 75, 60],
    ['a saw tooth', (minute: number) => 200 + (minute % 5), 0, 0],
    ['a peak in the middle', (minute: number) => (minute === 50 ? 900 : 200), 0, 0],
  ])('measures %s', (_, valueOf, growth, perHour) => {
    const measured = growthOf(points(valueOf));
    expect(measured.growth).toBe(growth);
    expect(measured.perHour).toBeCloseTo(perHour);
  });

  test('has no value without points', () => {
    expect(growthOf([])).toMatchObject({ first: Number.NaN, growth: Number.NaN, perHour: Number.NaN });
  });
});
