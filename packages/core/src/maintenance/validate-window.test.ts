import { describe, expect, test } from '@jest/globals';
import { windowOf } from '../testing/window-of.ts';
import type { WindowSchedule } from './occurrences.ts';
import { isTimeZone, validateSchedule } from './validate-window.ts';

const NOW = new Date('2026-06-01T00:00:00Z');
const valid = windowOf('2026-06-06T22:00:00Z', null);

function problemsOf(fields: Partial<WindowSchedule>): [string, string][] {
  return validateSchedule({ ...valid, ...fields }, NOW).map(({ path, message }) => [path, message]);
}

test.each([
  null,
  'FREQ=DAILY',
  'FREQ=WEEKLY;BYDAY=SA,SU;WKST=MO',
  'FREQ=MONTHLY;BYDAY=-1SU',
  'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1',
  'FREQ=DAILY;BYDAY=FR;BYMONTHDAY=13',
  'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29',
  'FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO',
  'FREQ=DAILY;BYHOUR=1,13;BYMINUTE=30',
  'FREQ=DAILY;COUNT=366',
  'FREQ=DAILY;INTERVAL=1000',
  'FREQ=HOURLY;BYDAY=MO;BYHOUR=0,23;BYMINUTE=59',
  'FREQ=MONTHLY;BYMONTHDAY=-31,31;BYHOUR=1,2,3,4',
  'FREQ=YEARLY;BYYEARDAY=-366,1;BYHOUR=1,13',
  'FREQ=YEARLY;BYMONTH=1,12;BYDAY=+1MO;BYSETPOS=1',
  'FREQ=YEARLY;INTERVAL=6;COUNT=1',
  'FREQ=DAILY;UNTIL=20261231T235959Z',
  'FREQ=HOURLY;INTERVAL=6',
])('accepts %s', (rrule) => {
  expect(problemsOf({ rrule })).toEqual([]);
});

describe('rrule is rejected', () => {
  test.each([
    ['garbage', 'must be an RFC 5545 rule in capitals'],
    ['freq=daily', 'must be an RFC 5545 rule in capitals'],
    ['RRULE:FREQ=DAILY', 'must not use RRULE:FREQ|must be an RFC 5545 rule'],
    ['FREQ=DAILY;', 'must be an RFC 5545 rule in capitals'],
    ['FREQ=SECONDLY', 'FREQ must be one of'],
    ['INTERVAL=2', 'must contain FREQ'],
    ['FREQ=DAILY;FREQ=WEEKLY', 'must not contain FREQ twice'],
    ['FREQ=DAILY;BYSECOND=30', 'must not use BYSECOND'],
    ['FREQ=DAILY;CONSTRUCTOR=1', 'must not use CONSTRUCTOR'],
    ['DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY', 'must contain the rule only'],
    ['FREQ=DAILY;DTSTART=20260101T000000Z', 'must contain the rule only'],
    ['FREQ=DAILY;INTERVAL=0', 'INTERVAL must be an integer from 1 to 1000'],
    ['FREQ=DAILY;INTERVAL=1001', 'INTERVAL must be an integer from 1 to 1000'],
    ['FREQ=DAILY;COUNT=0', 'COUNT must be an integer from 1 to 366'],
    ['FREQ=DAILY;COUNT=367', 'COUNT must be an integer from 1 to 366'],
    ['FREQ=DAILY;COUNT=5;UNTIL=20261231T235959Z', 'must not contain both COUNT and UNTIL'],
    ['FREQ=DAILY;UNTIL=20261231', 'UNTIL must be a date and time in UTC'],
    ['FREQ=DAILY;UNTIL=20261331T000000Z', 'UNTIL must be a date and time in UTC'],
    ['FREQ=DAILY;WKST=1MO', 'WKST must be a weekday'],
    ['FREQ=WEEKLY;BYDAY=XX', 'BYDAY must be weekdays'],
    ['FREQ=WEEKLY;BYDAY=2MO', 'BYDAY can have a number only'],
    ['FREQ=YEARLY;BYWEEKNO=20;BYDAY=2MO', 'BYDAY cannot have a number together with BYWEEKNO'],
    ['FREQ=MONTHLY;BYWEEKNO=20', 'BYWEEKNO requires FREQ=YEARLY'],
    ['FREQ=YEARLY;BYWEEKNO=54', 'BYWEEKNO must be integers from -53 to 53 without 0'],
    ['FREQ=MONTHLY;BYYEARDAY=20', 'BYYEARDAY requires FREQ=YEARLY'],
    ['FREQ=YEARLY;BYYEARDAY=367', 'BYYEARDAY must be integers from -366 to 366 without 0'],
    ['FREQ=WEEKLY;BYMONTHDAY=20', 'BYMONTHDAY cannot be used with FREQ=WEEKLY'],
    ['FREQ=YEARLY;BYMONTH=13', 'BYMONTH must be integers from 1 to 12'],
    ['FREQ=YEARLY;BYMONTH=0', 'BYMONTH must be integers from 1 to 12'],
    ['FREQ=DAILY;BYHOUR=24', 'BYHOUR must be integers from 0 to 23'],
    ['FREQ=DAILY;BYMINUTE=60', 'BYMINUTE must be integers from 0 to 59'],
    ['FREQ=MONTHLY;BYMONTHDAY=0', 'BYMONTHDAY must be integers from -31 to 31 without 0'],
    ['FREQ=MONTHLY;BYMONTHDAY=32', 'BYMONTHDAY must be integers from -31 to 31 without 0'],
    ['FREQ=MONTHLY;BYDAY=MO;BYSETPOS=367', 'BYSETPOS must be integers from -366 to 366 without 0'],
    ['FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1;BYHOUR=1,2', 'at most 1 times of day with FREQ=MONTHLY and BYSETPOS'],
    ['FREQ=YEARLY;BYHOUR=1,2,3', 'must have at most 2 times of day'],
    ['FREQ=MONTHLY;BYHOUR=1,2,3,4,5', 'must have at most 4 times of day'],
    [`FREQ=DAILY;BYMINUTE=${'1,'.repeat(60)}1`, 'BYMINUTE must contain at most 60 values'],
    ['FREQ=DAILY;BYSETPOS=1', 'BYSETPOS requires another BY part'],
    ['FREQ=HOURLY;BYMONTH=2', 'BYMONTH cannot be used with FREQ=HOURLY'],
    ['FREQ=DAILY;BYHOUR=1,2,3,4,5;BYMINUTE=0,10,20,30,40', 'must have at most 24 times of day'],
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', 'must have another occurrence within 5 years'],
    ['FREQ=YEARLY;INTERVAL=6', 'must have another occurrence within 5 years'],
    ['FREQ=DAILY;BYDAY=FR;BYMONTHDAY=13;COUNT=100', 'has its occurrences too far apart for COUNT'],
    [`FREQ=DAILY;BYMINUTE=${'1,'.repeat(300)}1`, 'must be at most 500 characters'],
  ])('%s', (rrule, message) => {
    const [problem, ...others] = problemsOf({ rrule });
    expect(others).toEqual([]);
    expect(problem?.[0]).toBe('rrule');
    expect(problem?.[1]).toMatch(new RegExp(message));
  });

  test('when an occurrence is longer than the gap to the next one, with the longest duration in the message', () => {
    const endsAt = new Date('2026-06-08T22:00:00Z');
    expect(problemsOf({ endsAt, rrule: 'FREQ=WEEKLY;BYDAY=SA' })).toEqual([]);
    expect(problemsOf({ endsAt, rrule: 'FREQ=DAILY' })).toEqual([
      ['rrule', expect.stringMatching(/next one starts: endsAt must be at most 1 d after startsAt$/)],
    ]);
    const wholeDay = new Date('2026-06-07T22:00:00Z');
    expect(problemsOf({ endsAt: wholeDay, rrule: 'FREQ=DAILY' })).toEqual([]);
    // An occurrence that covers a whole day is as long as the day, even if the clocks change on it.
    const longDay = { startsAt: new Date('2026-10-24T22:00:00Z'), endsAt: new Date('2026-10-25T23:00:00Z') };
    const timeZone = 'Europe/Berlin';
    expect(problemsOf({ ...longDay, rrule: 'FREQ=DAILY', timeZone })).toEqual([]);
    const month = { ...longDay, endsAt: new Date('2026-11-23T23:00:00Z') };
    expect(problemsOf({ ...month, timeZone })).toEqual([]);
    expect(problemsOf({ ...month, rrule: 'FREQ=YEARLY' })).toEqual([['endsAt', expect.any(String)]]);
  });

  test('when all occurrences are over', () => {
    const { startsAt, endsAt } = windowOf('2026-01-01T00:00:00Z', null);
    const past = { startsAt, endsAt };
    expect(problemsOf({ ...past, rrule: 'FREQ=DAILY;COUNT=3' })).toEqual([
      ['rrule', expect.stringContaining('in the future')],
    ]);
    expect(problemsOf({ ...past, rrule: 'FREQ=DAILY' })).toEqual([]);
    expect(problemsOf(past)).toEqual([['endsAt', expect.stringContaining('in the future')]]);
    expect(validateSchedule({ ...valid, ...past }, NOW, true)).toEqual([]);
  });
});

test.each([
  ['endsAt before startsAt', { endsAt: new Date('2026-06-06T21:00:00Z') }, 'endsAt'],
  ['endsAt at startsAt', { endsAt: valid.startsAt }, 'endsAt'],
  ['longer than 30 days', { endsAt: new Date('2026-07-06T22:00:00.001Z') }, 'endsAt'],
  ['an unknown time zone', { timeZone: 'Europe/Atlantis' }, 'timeZone'],
  ['an offset as time zone', { timeZone: '+01:00' }, 'timeZone'],
  ['far in the future', windowOf('2126-06-06T22:00:00Z', null), 'startsAt'],
  ['more than 10 years ago', windowOf('2016-05-01T00:00:00Z', 'FREQ=DAILY'), 'startsAt'],
])('rejects %s', (_, fields, path) => {
  expect(problemsOf(fields).map(([at]) => at)).toEqual([path]);
});

test('reports all errors at once, even if some fields could not be parsed', () => {
  const bad = { timeZone: 'Nowhere', rrule: 'FREQ=SECONDLY' };
  expect(problemsOf({ ...bad, endsAt: valid.startsAt }).map(([at]) => at)).toEqual([
    'timeZone',
    'rrule',
    'endsAt',
  ]);
  expect(validateSchedule(bad, NOW).map(({ path }) => path)).toEqual(['timeZone', 'rrule']);
});

test('isTimeZone accepts the time zones of the IANA database', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5']) {
    expect(isTimeZone(name)).toBe(true);
  }
  for (const name of ['', 'Berlin', 'Europe/../Berlin', 'x'.repeat(99), 'CET;'])
    expect(isTimeZone(name)).toBe(false);
});
