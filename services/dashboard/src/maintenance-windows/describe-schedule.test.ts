import { expect, test } from '@jest/globals';
import { describeSchedule } from './describe-schedule.ts';

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
    'By the rule FREQ=YEARLY;BYWEEKNO=20, at 02:00 (Europe/Berlin), for 2 h 30 min each.',
  ],
])('%s', (rrule, sentence) => {
  expect(describeSchedule({ ...schedule, rrule })).toBe(sentence);
});

test('once', () => {
  expect(describeSchedule({ ...schedule, rrule: null })).toMatch(
    /^Once, on .*14.* \(Europe\/Berlin\), for 2 h 30 min\.$/,
  );
});
