import { describe, expect, test } from '@jest/globals';
import { NO_RECURRENCE, readRecurrence, type Recurrence, toRrule } from './recurrence.ts';

/** The second Saturday of March. */
const START = '2026-03-14T02:00';
const ZONE = 'Europe/Berlin';

const simple: [string, Partial<Recurrence>][] = [
  ['FREQ=DAILY', { repeat: 'daily' }],
  ['FREQ=DAILY;INTERVAL=3;COUNT=5', { repeat: 'daily', every: 3, ends: 'count', count: 5 }],
  ['FREQ=WEEKLY;BYDAY=TU,SA', { repeat: 'weekly', days: ['TU', 'SA'] }],
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=SA', { repeat: 'weekly', every: 2, days: ['SA'] }],
  ['FREQ=MONTHLY;BYMONTHDAY=14', { repeat: 'monthly', monthlyOn: 'day' }],
  ['FREQ=MONTHLY;BYMONTHDAY=-1', { repeat: 'monthly', monthlyOn: 'last-day' }],
  ['FREQ=MONTHLY;BYDAY=2SA', { repeat: 'monthly', monthlyOn: 'nth' }],
  ['FREQ=MONTHLY;BYDAY=-1SA', { repeat: 'monthly', monthlyOn: 'last' }],
  ['FREQ=DAILY;UNTIL=20261231T225959Z', { repeat: 'daily', ends: 'until', until: '2026-12-31' }],
];

describe('toRrule and readRecurrence', () => {
  test.each(simple)('%s', (rrule, choices) => {
    expect(toRrule({ ...NO_RECURRENCE, ...choices }, START, ZONE)).toBe(rrule);
    expect(readRecurrence(rrule, START, ZONE)).toMatchObject(choices);
  });

  test('a single occurrence has no rule', () => {
    expect(toRrule(NO_RECURRENCE, START, ZONE)).toBeNull();
    expect(readRecurrence(null, START, ZONE)).toEqual(NO_RECURRENCE);
  });

  test('the first occurrence determines the default day', () => {
    expect(toRrule({ ...NO_RECURRENCE, repeat: 'weekly' }, START, ZONE)).toBe('FREQ=WEEKLY;BYDAY=SA');
    expect(readRecurrence('FREQ=WEEKLY', START, ZONE)).toMatchObject({ repeat: 'weekly', days: ['SA'] });
    expect(readRecurrence('FREQ=MONTHLY', START, ZONE)).toMatchObject({
      repeat: 'monthly',
      monthlyOn: 'day',
    });
  });

  test('the order of parts and implied parts are ignored', () => {
    expect(readRecurrence('BYDAY=SA,TU;INTERVAL=1;WKST=MO;FREQ=WEEKLY', START, ZONE)).toMatchObject({
      repeat: 'weekly',
      days: ['TU', 'SA'],
    });
  });
});

test.each([
  'FREQ=YEARLY',
  'FREQ=HOURLY;INTERVAL=6',
  'FREQ=DAILY;BYHOUR=2,14',
  'FREQ=WEEKLY;BYDAY=SA;WKST=SU',
  // Not the day of the first occurrence.
  'FREQ=MONTHLY;BYMONTHDAY=15',
  'FREQ=MONTHLY;BYDAY=3SA',
  'FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=1',
  // Ends within a day.
  'FREQ=DAILY;UNTIL=20261231T120000Z',
  'FREQ=DAILY;INTERVAL=x',
])('readRecurrence keeps %s as a custom rule', (rrule) => {
  const recurrence = readRecurrence(rrule, START, ZONE);
  expect(recurrence).toMatchObject({ repeat: 'custom', rrule });
  expect(toRrule(recurrence, START, ZONE)).toBe(rrule);
});

test('toRrule removes the RRULE prefix of a custom rule', () => {
  const custom = { ...NO_RECURRENCE, repeat: 'custom' as const, rrule: ' RRULE:FREQ=DAILY ' };
  expect(toRrule(custom, START, ZONE)).toBe('FREQ=DAILY');
});
