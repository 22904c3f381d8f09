import { expect, test } from '@jest/globals';
import { describeClockChange, describeRrule, describeSchedule } from './schedule-text.ts';

const schedule = {
  startsAt: '2026-03-14T01:00:00.000Z',
  endsAt: '2026-03-14T03:30:00.000Z',
  timeZone: 'Europe/Berlin',
};

test.each([
  ['FREQ=WEEKLY;BYDAY=SA', 'Every week on Saturday, at 02:00 (Europe/Berlin), for 2 h 30 min each.'],
  ['FREQ=HOURLY;INTERVAL=6', 'Every 6 hours, from 02:00 (Europe/Berlin), for 2 h 30 min each.'],
  [
    'FREQ=YEARLY;BYWEEKNO=20',
    'Custom rule FREQ=YEARLY;BYWEEKNO=20, at 02:00 (Europe/Berlin), for 2 h 30 min each.',
  ],
])('%s', (rrule, sentence) => {
  expect(describeSchedule({ ...schedule, rrule })).toBe(sentence);
});

test('describeSchedule describes a single occurrence', () => {
  expect(describeSchedule({ ...schedule, rrule: null })).toMatch(
    /^Once, on .*14.* \(Europe\/Berlin\), for 2 h 30 min\.$/,
  );
});

test.each([
  ['FREQ=DAILY', 'Every day'],
  ['FREQ=HOURLY;INTERVAL=6', 'Every 6 hours'],
  ['FREQ=WEEKLY;BYDAY=SA', 'Every week on Saturday'],
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,TU', 'Every 2 weeks on Tuesday and Saturday'],
  ['FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR', 'Every week on weekdays'],
  ['FREQ=MONTHLY;BYMONTHDAY=14,-1', 'Every month on day 14 and the last day'],
  ['FREQ=MONTHLY;BYDAY=2SA', 'Every month on the second Saturday'],
  ['FREQ=MONTHLY;BYDAY=-2FR', 'Every month on the second to last Friday'],
  ['FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU', 'Every year on the last Sunday in March and October'],
  ['FREQ=DAILY;COUNT=10', 'Every day, 10 times'],
  ['FREQ=DAILY;UNTIL=20261231T225959Z', 'Every day, until 2026-12-31'],
])('%s is described as "%s"', (rrule, sentence) => {
  expect(describeRrule(rrule, 'Europe/Berlin')).toBe(sentence);
});

test.each([
  'FREQ=DAILY;BYHOUR=2,14',
  'FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13',
  'FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=1',
  'FREQ=WEEKLY;BYDAY=XX',
  'FREQ=NEVER',
  'FREQ=YEARLY;BYMONTH=13',
  'nonsense',
])('%s has no sentence', (rrule) => {
  expect(describeRrule(rrule, 'UTC')).toBeNull();
});

test.each([
  ['never', /^On .*2027.*, 01:30 does not exist in Europe\/London: .* does not take place on this day\.$/],
  ['twice', /^On .*2027.*, 01:30 occurs twice in Europe\/London: .* starts the first time\.$/],
] as const)('describeClockChange: %s', (occurs, sentence) => {
  expect(describeClockChange({ localTime: '2027-03-28T01:30:00', occurs }, 'Europe/London')).toMatch(
    sentence,
  );
});
