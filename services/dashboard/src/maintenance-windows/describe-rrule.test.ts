import { expect, test } from '@jest/globals';
import { describeRrule } from './describe-rrule.ts';

test.each([
  ['FREQ=DAILY', 'Every day'],
  ['FREQ=HOURLY;INTERVAL=6', 'Every 6 hours'],
  ['FREQ=WEEKLY;BYDAY=SA', 'Every week on Saturday'],
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,TU', 'Every 2 weeks on Tuesday and Saturday'],
  ['FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR', 'Every week on working days'],
  ['FREQ=MONTHLY;BYMONTHDAY=14,-1', 'Every month on day 14 and the last day'],
  ['FREQ=MONTHLY;BYDAY=2SA', 'Every month on the second Saturday'],
  ['FREQ=MONTHLY;BYDAY=-2FR', 'Every month on the second to last Friday'],
  ['FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU', 'Every year on the last Sunday in March and October'],
  ['FREQ=DAILY;COUNT=10', 'Every day, 10 times'],
  ['FREQ=DAILY;UNTIL=20261231T225959Z', 'Every day, until 2026-12-31'],
])('%s reads as "%s"', (rrule, sentence) => {
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
