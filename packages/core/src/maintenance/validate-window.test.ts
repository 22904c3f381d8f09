import { describe, expect, test } from '@jest/globals';
import type { WindowSchedule } from './occurrences.ts';
import { isTimeZone, validateSchedule } from './validate-window.ts';

const NOW = new Date('2026-06-01T00:00:00Z');
const valid: WindowSchedule = {
  startsAt: new Date('2026-06-06T22:00:00Z'),
  endsAt: new Date('2026-06-06T23:00:00Z'),
  rrule: null,
  timeZone: 'UTC',
};

function problemsOf(fields: Partial<WindowSchedule>): [string, string][] {
  return validateSchedule({ ...valid, ...fields }, NOW).map(({ path, message }) => [path, message]);
}

test.each([
  null,
  'FREQ=DAILY',
  'FREQ=WEEKLY;BYDAY=SA,SU;WKST=MO',
  'FREQ=MONTHLY;BYDAY=-1SU',
  'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1',
  'FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13',
  'FREQ=DAILY;BYDAY=FR;BYMONTHDAY=13',
  'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29',
  'FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO',
  'FREQ=DAILY;BYHOUR=1,13;BYMINUTE=30',
  'FREQ=DAILY;COUNT=366',
  'FREQ=DAILY;COUNT=1',
  'FREQ=DAILY;UNTIL=20261231T235959Z',
  'FREQ=HOURLY;INTERVAL=6',
])('accepts %s', (rrule) => {
  expect(problemsOf({ rrule })).toEqual([]);
});

describe('rrule is rejected', () => {
  test.each([
    ['', 'must be an RFC 5545 rule in capitals'],
    ['garbage', 'must be an RFC 5545 rule in capitals'],
    ['freq=daily', 'must be an RFC 5545 rule in capitals'],
    ['RRULE:FREQ=DAILY', 'must not use RRULE:FREQ|must be an RFC 5545 rule'],
    ['FREQ=DAILY;', 'must be an RFC 5545 rule in capitals'],
    ['FREQ=FOO', 'FREQ must be one of'],
    ['FREQ=SECONDLY', 'FREQ must be one of'],
    ['FREQ=MINUTELY;INTERVAL=30', 'FREQ must be one of'],
    ['INTERVAL=2', 'must contain FREQ'],
    ['FREQ=DAILY;FREQ=WEEKLY', 'must not contain FREQ twice'],
    ['FREQ=DAILY;BYSECOND=30', 'must not use BYSECOND'],
    ['FREQ=DAILY;FOO=1', 'must not use FOO'],
    ['FREQ=DAILY;CONSTRUCTOR=1', 'must not use CONSTRUCTOR'],
    ['DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY', 'must contain the rule only'],
    ['FREQ=DAILY;DTSTART=20260101T000000Z', 'must contain the rule only'],
    ['FREQ=DAILY;INTERVAL=0', 'INTERVAL must be an integer from 1 to 1000'],
    ['FREQ=DAILY;INTERVAL=99999', 'INTERVAL must be an integer from 1 to 1000'],
    ['FREQ=DAILY;COUNT=0', 'COUNT must be an integer from 1 to 366'],
    ['FREQ=DAILY;COUNT=5;UNTIL=20261231T235959Z', 'must not contain both COUNT and UNTIL'],
    ['FREQ=DAILY;UNTIL=20261231', 'UNTIL must be a date and time in UTC'],
    ['FREQ=DAILY;UNTIL=20261331T000000Z', 'UNTIL must be a date and time in UTC'],
    ['FREQ=WEEKLY;BYDAY=XX', 'BYDAY must be weekdays'],
    ['FREQ=WEEKLY;BYDAY=2MO', 'BYDAY can have a number only'],
    ['FREQ=DAILY;BYHOUR=25', 'BYHOUR must be integers from 0 to 23'],
    ['FREQ=MONTHLY;BYMONTHDAY=0', 'BYMONTHDAY must be integers from -31 to 31 without 0'],
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
    // A week in which the clocks go forward is shorter.
    const week = {
      endsAt: new Date('2026-06-14T22:00:00Z'),
      rrule: 'FREQ=WEEKLY',
      timeZone: 'Europe/Berlin',
    };
    expect(problemsOf(week)).toEqual([['rrule', expect.stringContaining('at most 6 d 23 h after')]]);
    const wholeDay = new Date('2026-06-07T22:00:00Z');
    expect(problemsOf({ endsAt: wholeDay, rrule: 'FREQ=DAILY' })).toEqual([]);
  });

  test('when all occurrences are over', () => {
    const past = { startsAt: new Date('2026-01-01T00:00:00Z'), endsAt: new Date('2026-01-01T01:00:00Z') };
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
  [
    'far in the future',
    { startsAt: new Date('2126-06-06T22:00:00Z'), endsAt: new Date('2126-06-06T23:00:00Z') },
    'startsAt',
  ],
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
