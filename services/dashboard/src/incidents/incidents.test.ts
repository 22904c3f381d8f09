import { expect, test } from '@jest/globals';
import { describeDay, groupByDay } from './group-by-day.ts';

const at = ['2026-03-02T00:30:00.000Z', '2026-03-01T23:30:00.000Z', '2026-03-01T12:00:00.000Z'];

test.each([
  ['UTC', { '2026-03-02': 1, '2026-03-01': 2 }],
  ['Europe/Berlin', { '2026-03-02': 2, '2026-03-01': 1 }],
  ['America/New_York', { '2026-03-01': 3 }],
])('groupByDay uses the day in %s', (zone, counts) => {
  const days = groupByDay(at, (time) => time, zone);
  expect(Array.from(days, ([date, items]) => [date, items.length])).toEqual(Object.entries(counts));
  expect([...days.values()].flat()).toEqual(at);
});

test('describeDay names today and yesterday', () => {
  // Already the 2nd in Berlin.
  const now = Date.parse('2026-03-01T23:30:00.000Z');
  expect(describeDay('2026-03-02', now, 'Europe/Berlin')).toBe('Today');
  expect(describeDay('2026-03-01', now, 'Europe/Berlin')).toBe('Yesterday');
  const afterClockChange = Date.parse('2026-03-29T22:30:00.000Z');
  expect(describeDay('2026-03-29', afterClockChange, 'Europe/Berlin')).toBe('Yesterday');
  expect(describeDay('2026-02-28', now, 'Europe/Berlin', 'en-US')).toBe('Saturday, February 28, 2026');
});
