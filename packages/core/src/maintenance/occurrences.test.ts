import { afterEach, describe, expect, jest, test } from '@jest/globals';
import * as fc from 'fast-check';
import { RRuleTemporal } from 'rrule-temporal';
import { PROPERTY_PARAMETERS } from '../testing/property-parameters.ts';
import {
  firstOverlap,
  followingOccurrence,
  nextOccurrence,
  passedOccurrences,
  previewOccurrences,
  type WindowSchedule,
} from './occurrences.ts';
import { validateSchedule } from './validate-window.ts';

const MINUTE_MS = 60_000;
fc.configureGlobal(PROPERTY_PARAMETERS);
afterEach(() => {
  jest.restoreAllMocks();
});

function windowOf(startsAt: string, rrule: string | null, timeZone = 'UTC', minutes = 60): WindowSchedule {
  const start = new Date(startsAt);
  return { startsAt: start, endsAt: new Date(start.getTime() + minutes * MINUTE_MS), rrule, timeZone };
}

function starts(window: WindowSchedule, count: number, after = '2000-01-01T00:00:00Z'): string[] {
  return previewOccurrences(window, count, new Date(after)).map(({ startsAt }) => startsAt.toISOString());
}

describe('a window that takes place once', () => {
  const once = windowOf('2026-05-01T10:00:00.123Z', null);

  test.each([
    ['before', '2026-05-01T09:00:00Z', true],
    ['while it runs', '2026-05-01T11:00:00.122Z', true],
    ['at its end', '2026-05-01T11:00:00.123Z', false],
  ])('%s', (_, after, found) => {
    const expected = found ? { startsAt: once.startsAt, endsAt: once.endsAt } : null;
    expect(nextOccurrence(once, new Date(after))).toEqual(expected);
  });

  test('has no following occurrence', () => {
    expect(followingOccurrence(once, once, once.startsAt)).toBeNull();
    expect(passedOccurrences(once, once, new Date('2027-01-01T00:00:00Z'), 9)).toEqual([]);
    expect(starts(once, 5)).toEqual(['2026-05-01T10:00:00.123Z']);
  });
});

describe('a rule keeps local time', () => {
  test.each<[string, WindowSchedule, string[]]>([
    [
      'into summer time, Berlin',
      windowOf('2026-03-28T21:00:00Z', 'FREQ=DAILY', 'Europe/Berlin'),
      ['2026-03-28T21:00:00.000Z', '2026-03-29T20:00:00.000Z', '2026-03-30T20:00:00.000Z'],
    ],
    [
      'out of summer time, Berlin',
      windowOf('2026-10-24T20:00:00Z', 'FREQ=DAILY', 'Europe/Berlin'),
      ['2026-10-24T20:00:00.000Z', '2026-10-25T21:00:00.000Z', '2026-10-26T21:00:00.000Z'],
    ],
    [
      'into summer time, New York',
      windowOf('2026-03-07T15:00:00Z', 'FREQ=DAILY', 'America/New_York'),
      ['2026-03-07T15:00:00.000Z', '2026-03-08T14:00:00.000Z', '2026-03-09T14:00:00.000Z'],
    ],
    [
      'out of summer time, New York',
      windowOf('2026-10-31T14:00:00Z', 'FREQ=DAILY', 'America/New_York'),
      ['2026-10-31T14:00:00.000Z', '2026-11-01T15:00:00.000Z', '2026-11-02T15:00:00.000Z'],
    ],
    [
      'a time that does not exist on a day is left out: 02:30, Berlin',
      windowOf('2026-03-28T01:30:00Z', 'FREQ=DAILY', 'Europe/Berlin'),
      ['2026-03-28T01:30:00.000Z', '2026-03-30T00:30:00.000Z'],
    ],
    [
      'a time that exists twice is the first: 02:30, Berlin',
      windowOf('2026-10-24T00:30:00Z', 'FREQ=DAILY', 'Europe/Berlin'),
      ['2026-10-24T00:30:00.000Z', '2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'],
    ],
    [
      'every hour means elapsed time, even in the repeated hour, Berlin',
      windowOf('2026-10-24T23:15:00Z', 'FREQ=HOURLY', 'Europe/Berlin', 30),
      ['2026-10-24T23:15:00.000Z', '2026-10-25T00:15:00.000Z', '2026-10-25T01:15:00.000Z'],
    ],
    [
      'every 12 hours means elapsed time, Berlin',
      windowOf('2026-10-24T12:00:00Z', 'FREQ=HOURLY;INTERVAL=12', 'Europe/Berlin'),
      ['2026-10-24T12:00:00.000Z', '2026-10-25T00:00:00.000Z', '2026-10-25T12:00:00.000Z'],
    ],
    [
      'weekly over the change',
      windowOf('2026-03-28T21:00:00Z', 'FREQ=WEEKLY;BYDAY=SA', 'Europe/Berlin'),
      ['2026-03-28T21:00:00.000Z', '2026-04-04T20:00:00.000Z'],
    ],
  ])('%s', (_, window, expected) => {
    expect(starts(window, expected.length)).toEqual(expected);
  });
});

describe('rules', () => {
  test.each<[string, WindowSchedule, string[]]>([
    [
      'a month without the day is left out',
      windowOf('2026-01-31T10:00:00Z', 'FREQ=MONTHLY'),
      ['2026-01-31T10:00:00.000Z', '2026-03-31T10:00:00.000Z', '2026-05-31T10:00:00.000Z'],
    ],
    [
      'the last day of each month',
      windowOf('2026-01-31T10:00:00Z', 'FREQ=MONTHLY;BYMONTHDAY=-1'),
      ['2026-01-31T10:00:00.000Z', '2026-02-28T10:00:00.000Z', '2026-03-31T10:00:00.000Z'],
    ],
    [
      'the second Tuesday',
      windowOf('2026-01-13T10:00:00Z', 'FREQ=MONTHLY;BYDAY=2TU'),
      ['2026-01-13T10:00:00.000Z', '2026-02-10T10:00:00.000Z', '2026-03-10T10:00:00.000Z'],
    ],
    [
      'COUNT counts the first one',
      windowOf('2026-01-01T10:00:00Z', 'FREQ=DAILY;COUNT=2'),
      ['2026-01-01T10:00:00.000Z', '2026-01-02T10:00:00.000Z'],
    ],
    [
      'UNTIL is the last possible start',
      windowOf('2026-01-01T10:00:00Z', 'FREQ=DAILY;UNTIL=20260102T100000Z'),
      ['2026-01-01T10:00:00.000Z', '2026-01-02T10:00:00.000Z'],
    ],
    [
      'startsAt is the first occurrence, even if the rule does not match it',
      windowOf('2026-01-01T10:00:00Z', 'FREQ=WEEKLY;BYDAY=SA;COUNT=3'),
      ['2026-01-01T10:00:00.000Z', '2026-01-03T10:00:00.000Z', '2026-01-10T10:00:00.000Z'],
    ],
  ])('%s', (_, window, expected) => {
    const more = /COUNT|UNTIL/.test(window.rrule ?? '') ? 9 : expected.length;
    expect(starts(window, more)).toEqual(expected);
  });

  test('an occurrence keeps the milliseconds of the start', () => {
    const window = windowOf('2026-01-01T10:00:00.250Z', 'FREQ=HOURLY', 'Europe/Berlin', 5);
    expect(starts(window, 1, '2026-06-01T10:30:00Z')).toEqual(['2026-06-01T11:00:00.250Z']);
  });

  test('the running occurrence is found until its end', () => {
    const window = windowOf('2026-01-01T10:00:00Z', 'FREQ=DAILY');
    expect(starts(window, 1, '2026-02-01T10:59:59.999Z')).toEqual(['2026-02-01T10:00:00.000Z']);
    expect(starts(window, 1, '2026-02-01T11:00:00.000Z')).toEqual(['2026-02-02T10:00:00.000Z']);
  });
});

describe('passed occurrences', () => {
  const hourly = windowOf('2026-01-01T10:00:00Z', 'FREQ=HOURLY', 'Europe/Berlin', 5);
  const first = { startsAt: hourly.startsAt, endsAt: hourly.endsAt };

  test.each([
    ['nothing before the next one is over', 'FREQ=HOURLY', '2026-01-01T11:04:59Z', 0],
    ['one', 'FREQ=HOURLY', '2026-01-01T11:05:00Z', 1],
    ['a day', 'FREQ=HOURLY', '2026-01-02T10:30:00Z', 24],
    ['at most the requested number', 'FREQ=HOURLY', '2026-03-01T00:00:00Z', 200],
    ['with COUNT', 'FREQ=HOURLY;COUNT=9', '2026-03-01T00:00:00Z', 8],
    ['months', 'FREQ=MONTHLY', '2026-05-20T00:00:00Z', 4],
    ['once a week', 'FREQ=HOURLY;BYDAY=MO;BYHOUR=3', '2026-02-20T00:00:00Z', 7],
  ])('%s', (_, rrule, until, count) => {
    const found = passedOccurrences({ ...hourly, rrule }, first, new Date(until), 200);
    expect(found).toHaveLength(count);
    expect(found.toSorted((one, other) => one.startsAt.getTime() - other.startsAt.getTime())).toEqual(found);
  });
});

test('an error of the library is not taken for the end of the occurrences', () => {
  const daily = windowOf('2026-01-01T10:00:00Z', 'FREQ=DAILY');
  expect(() => nextOccurrence(daily, new Date(Number.NaN))).toThrow('Invalid time');
  const never = windowOf('2026-01-01T10:00:00Z', 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30');
  expect(nextOccurrence(never, new Date('2026-06-01T00:00:00Z'))).toBeNull();
});

const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];
const rules = fc.oneof(
  fc.constantFrom('FREQ=DAILY', 'FREQ=MONTHLY', 'FREQ=MONTHLY;BYMONTHDAY=-1', 'FREQ=DAILY;COUNT=9'),
  fc.integer({ min: 1, max: 9 }).map((interval) => `FREQ=DAILY;INTERVAL=${interval}`),
  fc.subarray(WEEKDAYS, { minLength: 1 }).map((days) => `FREQ=WEEKLY;BYDAY=${days.join(',')}`),
);
const windows = fc
  .record({
    start: fc.date({ min: new Date('2024-01-01'), max: new Date('2027-12-31'), noInvalidDate: true }),
    rrule: rules,
    timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'),
    minutes: fc.integer({ min: 1, max: 300 }),
  })
  .map(({ start, rrule, timeZone, minutes }) => windowOf(start.toISOString(), rrule, timeZone, minutes));

const clocks = new Map<string, Intl.DateTimeFormat>();
function localTime(date: Date, timeZone: string): string {
  const clock = clocks.get(timeZone) ?? new Intl.DateTimeFormat('en', { timeZone, timeStyle: 'medium' });
  clocks.set(timeZone, clock);
  return clock.format(date);
}

test('any rule in any zone: occurrences are in order, have the same length and local time, and each is found from the one before', () => {
  fc.assert(
    fc.property(windows, fc.integer({ min: 0, max: 400 }), (window, days) => {
      const after = new Date(window.startsAt.getTime() + days * 24 * 60 * MINUTE_MS);
      const found = previewOccurrences(window, 3, after);
      expect(found[0] ?? null).toEqual(nextOccurrence(window, after));
      found.forEach((one, index) => {
        expect(one.endsAt > after).toBe(true);
        expect(one.endsAt.getTime() - one.startsAt.getTime()).toBe(
          window.endsAt.getTime() - window.startsAt.getTime(),
        );
        expect(localTime(one.startsAt, window.timeZone)).toBe(localTime(window.startsAt, window.timeZone));
        const next = found[index + 1];
        if (next === undefined) return;
        expect(next.startsAt > one.startsAt).toBe(true);
        expect(followingOccurrence(window, one, one.startsAt)).toEqual(next);
        expect(followingOccurrence(window, one, one.endsAt)).toEqual(next);
        expect(passedOccurrences(window, one, next.endsAt, 9)).toEqual([next]);
        expect(passedOccurrences(window, one, new Date(next.endsAt.getTime() - 1), 9)).toEqual([]);
      });
    }),
    { numRuns: 60 },
  );
});

const anyRule = fc
  .record({
    FREQ: fc.constantFrom('YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY'),
    INTERVAL: fc.option(fc.integer({ min: 1, max: 1_000 })),
    COUNT: fc.option(fc.integer({ min: 1, max: 366 })),
    BYMONTH: fc.option(fc.integer({ min: 1, max: 12 })),
    BYMONTHDAY: fc.option(fc.integer({ min: 1, max: 31 })),
    BYWEEKNO: fc.option(fc.integer({ min: 1, max: 53 })),
    BYDAY: fc.option(fc.constantFrom('MO', 'TU,SA', '5FR', '-1SU')),
    BYHOUR: fc.option(fc.constantFrom('3', '1,2,3,4', '23')),
    BYSETPOS: fc.option(fc.constantFrom('1', '-1', '366')),
  })
  .map((parts) =>
    Object.entries(parts)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => `${name}=${value}`)
      .join(';'),
  );

test('no rule blocks the process: a few bounded searches validate it and find its occurrences', () => {
  const now = new Date('2026-06-01T00:00:00Z');
  // Each search ends at the limits of the library.
  const searches = (['next', 'between', 'all'] as const).map((name) =>
    jest.spyOn(RRuleTemporal.prototype, name),
  );
  fc.assert(
    fc.property(anyRule, (rrule) => {
      const window = windowOf('2026-01-05T03:00:00Z', rrule, 'Europe/Berlin', 1);
      for (const search of searches) search.mockClear();
      if (validateSchedule(window, now).length === 0) {
        expect(previewOccurrences(window, 5, now).length).toBeGreaterThan(0);
      }
      expect(searches.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBeLessThanOrEqual(8);
    }),
    { numRuns: 150 },
  );
  const never = windowOf('2026-01-05T03:00:00Z', 'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30');
  expect(nextOccurrence(never, now)).toBeNull();
});

describe('firstOverlap', () => {
  // The second one is a Saturday.
  const occurrences = ['2026-05-01', '2026-05-02'].map((day) => ({
    startsAt: new Date(`${day}T02:00:00Z`),
    endsAt: new Date(`${day}T04:00:00Z`),
  }));
  const weekly = (start: string): WindowSchedule => windowOf(start, 'FREQ=WEEKLY;BYDAY=SA', 'UTC', 120);

  test.each([
    ['begins earlier', '2026-03-14T01:00:00Z', '2026-05-02T02:00:00.000Z'],
    ['begins later', '2026-03-14T03:00:00Z', '2026-05-02T03:00:00.000Z'],
    ['ends when the occurrence begins', '2026-03-14T00:00:00Z', undefined],
    ['begins when the occurrence ends', '2026-03-14T04:00:00Z', undefined],
  ])('a window that %s', (_what, start, expected) => {
    expect(firstOverlap(occurrences, weekly(start))?.toISOString()).toBe(expected);
  });
});
