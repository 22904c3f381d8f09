import { describe, expect, test } from '@jest/globals';
import { nextOccurrences, tightOccurrence, type Schedule } from './occurrences.ts';

/** A Saturday, two hours from 02:00 in Berlin. */
const weekly: Schedule = {
  startsAt: '2026-03-14T01:00:00.000Z',
  endsAt: '2026-03-14T03:00:00.000Z',
  rrule: 'FREQ=WEEKLY;BYDAY=SA',
  timeZone: 'Europe/Berlin',
};
const starts = (schedule: Schedule, count: number, after: string): string[] =>
  nextOccurrences(schedule, count, Date.parse(after)).map(({ startsAt }) => startsAt);

describe('the next occurrences', () => {
  test('keep their local time when the clocks change, and their length', () => {
    expect(nextOccurrences(weekly, 2, Date.parse('2026-03-27T12:00:00Z'))).toEqual([
      { startsAt: '2026-03-28T01:00:00.000Z', endsAt: '2026-03-28T03:00:00.000Z' },
      { startsAt: '2026-04-04T00:00:00.000Z', endsAt: '2026-04-04T02:00:00.000Z' },
    ]);
  });

  test('have the one that runs, and not the one that is just over', () => {
    expect(starts(weekly, 1, '2026-03-14T02:59:59Z')).toEqual(['2026-03-14T01:00:00.000Z']);
    expect(starts(weekly, 1, '2026-03-14T03:00:00Z')).toEqual(['2026-03-21T01:00:00.000Z']);
  });

  test('leave out a local time that the clocks skip', () => {
    const daily = { ...weekly, startsAt: '2026-03-28T01:30:00Z', endsAt: '2026-03-28T01:45:00Z' };
    expect(starts({ ...daily, rrule: 'FREQ=DAILY' }, 2, '2026-03-28T12:00:00Z')).toEqual([
      '2026-03-30T00:30:00.000Z',
      '2026-03-31T00:30:00.000Z',
    ]);
  });

  test('are one of a window that does not recur', () => {
    const once = { ...weekly, rrule: null };
    expect(starts(once, 5, '2026-01-01T00:00:00Z')).toEqual([once.startsAt]);
    expect(starts(once, 5, '2026-03-15T00:00:00Z')).toEqual([]);
  });

  test('end with the count', () => {
    const counted = { ...weekly, rrule: 'FREQ=WEEKLY;BYDAY=SA;COUNT=3' };
    expect(starts(counted, 5, '2026-03-15T00:00:00Z')).toHaveLength(2);
  });

  test('every so many hours pay no heed to the clocks', () => {
    const hourly = { ...weekly, endsAt: '2026-03-14T01:10:00.000Z', rrule: 'FREQ=HOURLY;INTERVAL=12' };
    expect(starts(hourly, 2, '2026-03-28T20:00:00Z')).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-29T13:00:00.000Z',
    ]);
  });

  test('of a rule that matches no day are the first alone, soon', () => {
    const never = { ...weekly, rrule: 'FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30' };
    expect(starts(never, 5, '2026-01-01T00:00:00Z')).toEqual([weekly.startsAt]);
  });
});

test.each(['FREQ=SECONDLY', 'FREQ=WEEKLY;BYDAY=XX', 'nonsense'])('%s is refused', (rrule) => {
  expect(() => nextOccurrences({ ...weekly, rrule }, 5, 0)).toThrow();
});

test('finds an occurrence that runs into the next', () => {
  const daily = { ...weekly, rrule: 'FREQ=DAILY' };
  expect(tightOccurrence(daily, 0)).toBeNull();
  const long = { ...daily, endsAt: '2026-03-15T02:00:00.000Z' };
  expect(tightOccurrence(long, 0)).toEqual({ startsAt: long.startsAt, endsAt: long.endsAt });
});
