import { describe, expect, test } from '@jest/globals';
import { downCount } from './down-count.ts';
import { describeDay, groupByDay } from './group-by-day.ts';
import { MAX_OPEN_INCIDENTS } from './queries.ts';

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
  expect(describeDay('2026-03-02', now, 'Europe/Berlin')).toBe('Today (Europe/Berlin)');
  expect(describeDay('2026-03-01', now, 'Europe/Berlin')).toBe('Yesterday (Europe/Berlin)');
  const afterClockChange = Date.parse('2026-03-29T22:30:00.000Z');
  expect(describeDay('2026-03-29', afterClockChange, 'Europe/Berlin')).toBe('Yesterday (Europe/Berlin)');
  expect(describeDay('2026-02-27', now, 'UTC', 'en-US')).toBe('Friday, February 27, 2026 (UTC)');
});

describe('downCount', () => {
  const monitors = [
    { id: 'a', enabled: true, status: 'DOWN' },
    { id: 'b', enabled: true, status: 'MAINTENANCE' },
    { id: 'c', enabled: true, status: 'UP' },
  ] as const;
  const open = (...ids: string[]) => ids.map((monitorId) => ({ monitorId }));

  test('equals the count in the list, where a monitor in maintenance is not down', () => {
    expect(downCount(monitors, false, open('a', 'b'))).toBe(1);
    expect(downCount(monitors, true, open(...Array<string>(MAX_OPEN_INCIDENTS).fill('c')))).toBe(1);
  });

  test('counts open incidents of monitors outside maintenance while the list is outdated or unknown', () => {
    expect(downCount(monitors, true, open('a', 'b', 'c'))).toBe(2);
    expect(downCount(undefined, true, open('a', 'b'))).toBe(2);
    expect(downCount(undefined, false)).toBe(0);
  });
});
