import { expect, test } from '@jest/globals';
import { parseDuration } from './duration.ts';
import { NO_RECURRENCE, readRecurrence, type Recurrence, toRrule } from './recurrence.ts';
import { describeRrule, describeSchedule } from './schedule-text.ts';

const MINUTE_MS = 60_000;

test.each([
  [' 90m ', 90],
  ['1:30', 90],
  ['1.5 h', 90],
  ['1h 30m', 90],
  ['2h30', 150],
  ['1 day 2 hours', 1_560],
  ['720:00', 43_200],
])('reads "%s"', (text, minutes) => {
  expect(parseDuration(text)).toEqual({ durationMs: minutes * MINUTE_MS, error: null });
});

test.each([
  ['', /^Enter a duration, such as 90 min/],
  ['1:3', /^Enter a duration/],
  ['30 s', /^Must be at least 1 minute/],
  ['30 d 1 min', /^Must be at most 30 days/],
])('says what is wrong with "%s"', (text, message) => {
  expect(parseDuration(text)).toEqual({ durationMs: null, error: expect.stringMatching(message) });
});

/** The second Saturday of March. */
const START = '2026-03-14T02:00';
const ZONE = 'Europe/Berlin';

const simple: [string, Partial<Recurrence>][] = [
  ['FREQ=DAILY;INTERVAL=3;COUNT=5', { repeat: 'daily', every: 3, ends: 'count', count: 5 }],
  ['FREQ=WEEKLY;BYDAY=TU,SA', { repeat: 'weekly', days: ['TU', 'SA'] }],
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=SA', { repeat: 'weekly', every: 2, days: ['SA'] }],
  ['FREQ=MONTHLY;BYMONTHDAY=14', { repeat: 'monthly', monthlyOn: 'day' }],
  ['FREQ=MONTHLY;BYMONTHDAY=-1', { repeat: 'monthly', monthlyOn: 'last-day' }],
  ['FREQ=MONTHLY;BYDAY=2SA', { repeat: 'monthly', monthlyOn: 'nth' }],
  ['FREQ=MONTHLY;BYDAY=-1SA', { repeat: 'monthly', monthlyOn: 'last' }],
  ['FREQ=DAILY;UNTIL=20261231T225959Z', { repeat: 'daily', ends: 'until', until: '2026-12-31' }],
];

test.each(simple)('toRrule writes %s, and readRecurrence reads it', (rrule, choices) => {
  expect(toRrule({ ...NO_RECURRENCE, ...choices }, START, ZONE)).toBe(rrule);
  expect(readRecurrence(rrule, START, ZONE)).toMatchObject(choices);
});

test.each<[string, Partial<Recurrence>]>([
  // The first occurrence determines the day.
  ['FREQ=WEEKLY', { repeat: 'weekly', days: ['SA'] }],
  ['FREQ=MONTHLY', { repeat: 'monthly', monthlyOn: 'day' }],
  // The order of parts and implied parts do not matter.
  ['BYDAY=SA,TU;INTERVAL=1;WKST=MO;FREQ=WEEKLY', { repeat: 'weekly', days: ['TU', 'SA'] }],
])('readRecurrence reads %s', (rrule, choices) => {
  expect(readRecurrence(rrule, START, ZONE)).toMatchObject(choices);
});

test('a single occurrence has no rule, a week has a default day, and a custom rule loses its prefix', () => {
  expect(toRrule(NO_RECURRENCE, START, ZONE)).toBeNull();
  expect(readRecurrence(null, START, ZONE)).toEqual(NO_RECURRENCE);
  expect(toRrule({ ...NO_RECURRENCE, repeat: 'weekly' }, START, ZONE)).toBe('FREQ=WEEKLY;BYDAY=SA');
  const custom = { ...NO_RECURRENCE, repeat: 'custom' as const, rrule: ' RRULE:FREQ=DAILY ' };
  expect(toRrule(custom, START, ZONE)).toBe('FREQ=DAILY');
});

test.each([
  'FREQ=YEARLY',
  'FREQ=DAILY;BYHOUR=2,14',
  'FREQ=WEEKLY;BYDAY=SA;WKST=SU',
  // This is not the day of the first occurrence.
  'FREQ=MONTHLY;BYMONTHDAY=15',
  'FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=1',
  // Ends within a day.
  'FREQ=DAILY;UNTIL=20261231T120000Z',
  'FREQ=DAILY;INTERVAL=x',
])('readRecurrence keeps %s as a custom rule', (rrule) => {
  const recurrence = readRecurrence(rrule, START, ZONE);
  expect(recurrence).toMatchObject({ repeat: 'custom', rrule });
  expect(toRrule(recurrence, START, ZONE)).toBe(rrule);
});

test.each([
  ['FREQ=WEEKLY;BYDAY=SA', /^Every week on Saturday, at 02:00 \(Europe\/Berlin\), for 2 h 30 min each\.$/],
  ['FREQ=HOURLY;INTERVAL=6', /^Every 6 hours, from 02:00 /],
  ['FREQ=YEARLY;BYWEEKNO=20', /^Custom rule FREQ=YEARLY;BYWEEKNO=20, at 02:00 /],
  [null, /^Once, on .*14.* \(Europe\/Berlin\), for 2 h 30 min\.$/],
])('describeSchedule describes %j', (rrule, sentence) => {
  const times = { startsAt: '2026-03-14T01:00:00.000Z', endsAt: '2026-03-14T03:30:00.000Z' };
  expect(describeSchedule({ ...times, timeZone: ZONE, rrule })).toMatch(sentence);
});

test('describeSchedule gives the local length of a recurring window that begins in a night with a clock change', () => {
  const times = { startsAt: '2026-10-24T20:00:00.000Z', endsAt: '2026-10-25T05:00:00.000Z', timeZone: ZONE };
  expect(describeSchedule({ ...times, rrule: 'FREQ=DAILY' })).toMatch(/ for 8 h each\.$/);
  expect(describeSchedule({ ...times, rrule: null })).toMatch(/ for 9 h\.$/);
});

test.each([
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,TU', 'Every 2 weeks on Tuesday and Saturday'],
  ['FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR', 'Every week on weekdays'],
  ['FREQ=MONTHLY;BYMONTHDAY=14,-1', 'Every month on day 14 and the last day'],
  ['FREQ=MONTHLY;BYDAY=-2FR', 'Every month on the second to last Friday'],
  ['FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU', 'Every year on the last Sunday in March and October'],
  ['FREQ=DAILY;UNTIL=20261231T225959Z', 'Every day, until 2026-12-31'],
])('%s is described as "%s"', (rrule, sentence) => {
  expect(describeRrule(rrule, ZONE)).toBe(sentence);
});

test.each([
  'FREQ=DAILY;BYHOUR=2,14',
  'FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13',
  'FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=1',
])('%s has no sentence', (rrule) => {
  expect(describeRrule(rrule, 'UTC')).toBeNull();
});
