import { describe, expect, test } from '@jest/globals';
import { describeDay, groupByDay } from './group-by-day.ts';

const at = ['2026-03-02T00:30:00.000Z', '2026-03-01T23:30:00.000Z', '2026-03-01T12:00:00.000Z'];

describe('groupByDay uses the day in the time zone', () => {
  test.each([
    ['UTC', [['2026-03-02', 1] as const, ['2026-03-01', 2] as const]],
    ['Europe/Berlin', [['2026-03-02', 2] as const, ['2026-03-01', 1] as const]],
    ['America/New_York', [['2026-03-01', 3] as const]],
  ])('in %s', (zone, expected) => {
    const days = groupByDay(at, (time) => time, zone);
    expect([...days].map(([date, items]) => [date, items.length])).toEqual(expected);
    expect([...days.values()].flat()).toEqual(at);
  });
});

test('describeDay names today and yesterday', () => {
  // Already the 2nd in Berlin.
  const now = Date.parse('2026-03-01T23:30:00.000Z');
  expect(describeDay('2026-03-02', now, 'Europe/Berlin')).toBe('Today');
  expect(describeDay('2026-03-01', now, 'Europe/Berlin')).toBe('Yesterday');
  expect(describeDay('2026-02-28', now, 'Europe/Berlin', 'en-US')).toBe('Saturday, February 28, 2026');
});

test('describeDay names yesterday on the day after a clock change', () => {
  const now = Date.parse('2026-03-29T22:30:00.000Z');
  expect(describeDay('2026-03-29', now, 'Europe/Berlin')).toBe('Yesterday');
});
