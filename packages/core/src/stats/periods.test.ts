import { expect, test } from '@jest/globals';
import { resolvePeriod } from './periods.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.parse('2026-03-01T12:34:56.789Z');

function periodOf(
  fromAgoMs: number,
  toAgoMs: number,
  keptMs = 90 * DAY_MS,
): ReturnType<typeof resolvePeriod> {
  return resolvePeriod({ from: new Date(NOW - fromAgoMs), to: new Date(NOW - toAgoMs) }, NOW, NOW - keptMs);
}

test.each([
  ['1h', '2026-03-01T11:35:00.000Z', 60, 60],
  ['6h', '2026-03-01T06:35:00.000Z', 300, 72],
  ['24h', '2026-02-28T13:00:00.000Z', 3_600, 24],
  ['7d', '2026-02-22T13:00:00.000Z', 3_600, 168],
  ['30d', '2026-01-30T18:00:00.000Z', 21_600, 120],
  ['90d', '2025-12-02T00:00:00.000Z', 86_400, 90],
] as const)('the window %s begins at %s and has %i s buckets, %i of them', (window, from, seconds, count) => {
  const period = resolvePeriod({ window }, NOW, NOW - DAY_MS);
  expect(period).toMatchObject({ window, from: Date.parse(from), to: NOW, bucketMs: seconds * 1_000 });
  expect(period?.starts).toHaveLength(count);
  expect(period?.starts[0]).toBe(Date.parse(from));
  const last = period?.starts.at(-1) ?? 0;
  expect([last <= NOW, last + seconds * 1_000 > NOW]).toEqual([true, true]);
});

test('the default is 24 hours', () => {
  expect(resolvePeriod({}, NOW, NOW)?.window).toBe('24h');
});

test.each([
  ['a minute', MINUTE_MS, 0, MINUTE_MS],
  ['three hours', 3 * HOUR_MS, 0, MINUTE_MS],
  ['a little more than three hours', 3 * HOUR_MS + 1, 0, 5 * MINUTE_MS],
  ['twelve hours, long ago', 25 * DAY_MS, 25 * DAY_MS - 12 * HOUR_MS, 5 * MINUTE_MS],
  ['a day', DAY_MS, 0, 15 * MINUTE_MS],
  ['a week', 7 * DAY_MS, 0, HOUR_MS],
  ['45 days', 45 * DAY_MS, 0, 6 * HOUR_MS],
  ['a year', 365 * DAY_MS, 0, DAY_MS],
])('%s has buckets that cover it', (_, fromAgo, toAgo, bucketMs) => {
  const period = periodOf(fromAgo, toAgo);
  expect(period).toMatchObject({ window: null, from: NOW - fromAgo, to: NOW - toAgo, bucketMs });
  const { starts = [], from = 0, to = 0 } = period ?? {};
  const [first = 0, last = 0] = [starts[0], starts.at(-1)];
  expect(first % bucketMs).toBe(0);
  expect(starts).toEqual(starts.map((_, index) => first + index * bucketMs));
  expect([first <= from, first + bucketMs > from, last < to, last + bucketMs >= to]).not.toContain(false);
  expect(starts.length).toBeLessThanOrEqual(402);
});

test('a period with deleted events has buckets of at least an hour', () => {
  expect(periodOf(2 * HOUR_MS, 0, HOUR_MS)?.bucketMs).toBe(HOUR_MS);
  expect(periodOf(2 * HOUR_MS, 0, 2 * HOUR_MS)?.bucketMs).toBe(MINUTE_MS);
  expect(periodOf(60 * DAY_MS, 0, HOUR_MS)?.bucketMs).toBe(DAY_MS);
});

test('the future is left out', () => {
  expect(periodOf(HOUR_MS, -HOUR_MS)).toMatchObject({ from: NOW - HOUR_MS, to: NOW });
  expect(periodOf(-1, -HOUR_MS)).toBeNull();
});
