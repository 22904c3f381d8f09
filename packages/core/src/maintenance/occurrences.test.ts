import { describe, expect, jest, test } from '@jest/globals';
import { RRuleTemporal } from 'rrule-temporal';
import { fc } from '../testing/fast-check.ts';
import { windowOf } from '../testing/window-of.ts';
import {
  endOccurrence,
  firstOverlap,
  followingOccurrence,
  localLengthOf,
  nextOccurrence,
  passedOccurrences,
  previewOccurrences,
  type WindowSchedule,
} from './occurrences.ts';
import { validateSchedule } from './validate-window.ts';
import { toLocal } from './zoned-time.ts';

const DAY_MS = 86_400_000;
const [BERLIN, NEW_YORK] = ['Europe/Berlin', 'America/New_York'];

function starts(window: WindowSchedule, count: number, after: Date | string = '2000-01-01T00:00Z'): string[] {
  return previewOccurrences(window, count, new Date(after)).map(({ startsAt }) => startsAt.toISOString());
}

describe('a window that takes place once', () => {
  const once = windowOf('2026-05-01T10:00:00.123Z', null);

  test('is found before it begins and while it runs, but not at its end', () => {
    const found = { startsAt: once.startsAt, endsAt: once.endsAt };
    expect(nextOccurrence(once, new Date('2026-05-01T09:00:00Z'))).toEqual(found);
    expect(nextOccurrence(once, new Date('2026-05-01T11:00:00.122Z'))).toEqual(found);
    expect(nextOccurrence(once, new Date('2026-05-01T11:00:00.123Z'))).toBeNull();
  });

  test('has no following occurrence', () => {
    expect(followingOccurrence(once, once, once.startsAt)).toBeNull();
    expect(passedOccurrences(once, once, new Date('2027-01-01T00:00:00Z'), 9)).toEqual([]);
    expect(starts(once, 5)).toEqual(['2026-05-01T10:00:00.123Z']);
  });
});

/** Month, day and time of the starts after the first one, in UTC. */
function timesAfterStart(window: WindowSchedule, count: number): string {
  const [, ...later] = starts(window, 1 + count);
  return later.map((start) => start.slice(5, 16)).join(', ');
}

describe('a rule keeps local time', () => {
  test.each([
    ['into summer time', '03-28T21:00', 'FREQ=DAILY', BERLIN, '03-29T20:00, 03-30T20:00'],
    ['out of summer time', '10-24T20:00', 'FREQ=DAILY', BERLIN, '10-25T21:00, 10-26T21:00'],
    ['into summer time', '03-07T15:00', 'FREQ=DAILY', NEW_YORK, '03-08T14:00, 03-09T14:00'],
    ['over a change, weekly', '03-28T21:00', 'FREQ=WEEKLY;BYDAY=SA', BERLIN, '04-04T20:00'],
    ['and leaves out one that does not exist', '03-28T01:30', 'FREQ=DAILY', BERLIN, '03-30T00:30'],
    ['and takes the first of two', '10-24T00:30', 'FREQ=DAILY', BERLIN, '10-25T00:30, 10-26T01:30'],
    ['but not by hours', '10-24T12:00', 'FREQ=HOURLY;INTERVAL=12', BERLIN, '10-25T00:00, 10-25T12:00'],
    ['but not by the hour', '10-24T23:15', 'FREQ=HOURLY', BERLIN, '10-25T00:15, 10-25T01:15'],
  ])('%s: %s, %s in %s', (_, startsAt, rrule, timeZone, expected) => {
    const window = windowOf(`2026-${startsAt}Z`, rrule, timeZone, 30);
    expect(timesAfterStart(window, expected.split(', ').length)).toBe(expected);
  });
});

test.each([
  ['a day of 25 hours', '10-23T22:00', 24 * 60, 'FREQ=DAILY', BERLIN, '10-24T22:00/10-25T23:00'],
  [
    'as planned before a night of 9 hours',
    '10-24T20:00',
    9 * 60,
    'FREQ=DAILY',
    BERLIN,
    '10-25T21:00/10-26T05:00',
  ],
  ['after a week of 167 hours', '03-22T23:00', 167 * 60, 'FREQ=WEEKLY', BERLIN, '03-29T22:00/04-05T22:00'],
  ['by half an hour', '04-03T11:00', 8 * 60, 'FREQ=DAILY', 'Australia/Lord_Howe', '04-04T11:00/04-04T19:30'],
  ['when the clocks skip it', '03-28T00:00', 90, 'FREQ=DAILY', BERLIN, '03-29T00:00/03-29T01:00'],
  ['at the first of two', '10-23T23:00', 90, 'FREQ=DAILY', BERLIN, '10-24T23:00/10-25T00:30'],
  [
    'after one from the first to the second hour',
    '10-25T00:50',
    20,
    'FREQ=DAILY',
    BERLIN,
    '10-26T01:50/10-26T02:10',
  ],
  ['but not by hours', '10-24T12:00', 12 * 60, 'FREQ=HOURLY;INTERVAL=12', BERLIN, '10-25T00:00/10-25T12:00'],
])('the next occurrence keeps the local end, %s', (_, startsAt, minutes, rrule, timeZone, expected) => {
  const window = windowOf(`2026-${startsAt}Z`, rrule, timeZone, minutes);
  const next = followingOccurrence(window, window, window.startsAt);
  const span = next === null ? [] : [next.startsAt, next.endsAt];
  expect(span.map((time) => time.toISOString().slice(5, 16)).join('/')).toBe(expected);
});

describe('rules', () => {
  test.each([
    ['a month without the day is left out', '01-31', 'FREQ=MONTHLY', '03-31T10:00, 05-31T10:00'],
    ['the last day of each month', '01-31', 'FREQ=MONTHLY;BYMONTHDAY=-1', '02-28T10:00, 03-31T10:00'],
    ['the second Tuesday', '01-13', 'FREQ=MONTHLY;BYDAY=2TU', '02-10T10:00, 03-10T10:00'],
    ['COUNT includes the first one', '01-01', 'FREQ=DAILY;COUNT=2', '01-02T10:00'],
    ['UNTIL is the last possible start', '01-01', 'FREQ=DAILY;UNTIL=20260102T100000Z', '01-02T10:00'],
    ['the start need not match', '01-01', 'FREQ=WEEKLY;BYDAY=SA;COUNT=3', '01-03T10:00, 01-10T10:00'],
  ])('%s: %s, %s', (_, date, rrule, expected) => {
    const count = /COUNT|UNTIL/.test(rrule) ? 9 : expected.split(', ').length;
    expect(timesAfterStart(windowOf(`2026-${date}T10:00Z`, rrule), count)).toBe(expected);
  });

  test('an occurrence keeps the milliseconds of the start', () => {
    const window = windowOf('2026-01-01T10:00:00.250Z', 'FREQ=HOURLY', BERLIN, 5);
    expect(starts(window, 1, '2026-06-01T10:30:00Z')).toEqual(['2026-06-01T11:00:00.250Z']);
  });

  test('the running occurrence is found until its end', () => {
    const window = windowOf('2026-01-01T10:00:00Z', 'FREQ=DAILY');
    expect(starts(window, 1, '2026-02-01T10:59:59.999Z')).toEqual(['2026-02-01T10:00:00.000Z']);
    expect(starts(window, 1, '2026-02-01T11:00:00.000Z')).toEqual(['2026-02-02T10:00:00.000Z']);
  });
});

describe('passed occurrences', () => {
  const hourly = windowOf('2026-01-01T10:00:00Z', 'FREQ=HOURLY', BERLIN, 5);
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

test('an error in the library is not mistaken for the end of the occurrences', () => {
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

test('any rule in any zone: occurrences are in order, keep their local times, and each is found from the one before', () => {
  fc.assert(
    fc.property(windows, fc.integer({ min: 0, max: 400 }), (window, days) => {
      const after = new Date(window.startsAt.getTime() + days * DAY_MS);
      const found = previewOccurrences(window, 3, after);
      expect(found[0] ?? null).toEqual(nextOccurrence(window, after));
      found.forEach((one, index) => {
        expect(one.endsAt > after).toBe(true);
        expect(nextOccurrence(window, new Date(one.endsAt.getTime() - 1))).toEqual(one);
        const [start, end] = [one.startsAt.getTime(), one.endsAt.getTime()];
        const localStart = toLocal(start, window.timeZone);
        expect((localStart - toLocal(window.startsAt.getTime(), window.timeZone)) % DAY_MS).toBe(0);
        // The clocks may skip the local end.
        expect(toLocal(end - 1, window.timeZone)).toBeLessThan(localStart + localLengthOf(window));
        expect(toLocal(end, window.timeZone)).toBeGreaterThanOrEqual(localStart + localLengthOf(window));
        const next = found[index + 1];
        if (next === undefined) return;
        expect(next.startsAt > one.startsAt).toBe(true);
        expect(followingOccurrence(window, one, one.startsAt)).toEqual(next);
        expect(followingOccurrence(window, one, one.endsAt)).toEqual(next);
        expect(passedOccurrences(window, one, next.endsAt, 9)).toEqual([next]);
        expect(passedOccurrences(window, one, new Date(next.endsAt.getTime() - 1), 9)).toEqual([]);
      });
    }),
    { numRuns: 15 },
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
    { numRuns: 60 },
  );
  jest.restoreAllMocks();
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

describe('ending the current occurrence', () => {
  const now = new Date('2026-03-21T02:00Z');
  const current = { startsAt: new Date('2026-03-21T01:00Z'), endsAt: new Date('2026-03-21T03:00Z') };
  const once: WindowSchedule = { ...current, rrule: null, timeZone: 'UTC' };
  const weekly = (rrule: string, start = '2026-03-14T01:00Z', timeZone = 'UTC'): WindowSchedule =>
    windowOf(start, rrule, timeZone, 120);

  test('a window that takes place once ends now', () => {
    expect(endOccurrence(once, current, now)).toEqual({ ...once, endsAt: now });
  });

  test('a window that began at this moment gets an end after its start', () => {
    const { endsAt } = endOccurrence(once, current, current.startsAt);
    expect(endsAt.getTime() - current.startsAt.getTime()).toBe(1);
  });

  test('a window in its last occurrence keeps only that occurrence', () => {
    expect(endOccurrence(weekly('FREQ=WEEKLY;COUNT=2'), current, now)).toEqual({ ...once, endsAt: now });
  });

  test.each([
    ['FREQ=WEEKLY', 'FREQ=WEEKLY'],
    ['FREQ=WEEKLY;UNTIL=20260501T000000Z', 'FREQ=WEEKLY;UNTIL=20260501T000000Z'],
    ['FREQ=WEEKLY;COUNT=5', 'FREQ=WEEKLY;COUNT=3'],
  ])('%s continues with its next occurrence, as %s', (rrule, left) => {
    expect(endOccurrence(weekly(rrule), current, now)).toEqual(weekly(left, '2026-03-28T01:00Z'));
  });

  test.each([
    'FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,TU',
    'FREQ=MONTHLY;BYDAY=3SA;COUNT=9',
    'FREQ=DAILY;UNTIL=20260402T000000Z',
    'FREQ=HOURLY;INTERVAL=5;COUNT=40',
  ])('%s keeps its later occurrences, across a clock change', (rrule) => {
    const window = weekly(rrule, undefined, BERLIN);
    const [, second = window] = previewOccurrences(window, 2, window.startsAt);
    const duringSecond = new Date(second.startsAt.getTime() + 1);
    const ended = endOccurrence(window, second, duringSecond);
    expect(starts(window, 8, second.endsAt).length).toBeGreaterThan(4);
    expect(starts(ended, 8, second.endsAt)).toEqual(starts(window, 8, second.endsAt));
    expect(ended.startsAt > duringSecond).toBe(true);
  });
});
