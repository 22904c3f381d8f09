import { expect, test } from '@jest/globals';
import { clockChanges } from './clock-changes.ts';
import { previewOccurrences, type WindowSchedule } from './occurrences.ts';

const NOW = new Date('2026-11-23T00:00:00Z');
const LATER = new Date('2027-12-28T00:00:00Z');

/** A window of an hour. */
function windowOf(startsAt: string, rrule: string | null, timeZone: string): WindowSchedule {
  const start = new Date(startsAt);
  return { startsAt: start, endsAt: new Date(start.getTime() + 3_600_000), rrule, timeZone };
}

test.each<[string, WindowSchedule, string[]]>([
  [
    'a weekly window at 01:30 in London',
    windowOf('2026-11-29T01:30:00Z', 'FREQ=WEEKLY;BYDAY=SU', 'Europe/London'),
    ['2027-03-28T01:30:00 never', '2027-10-31T01:30:00 twice'],
  ],
  [
    'a window on another day of the week',
    windowOf('2026-11-28T01:30:00Z', 'FREQ=WEEKLY;BYDAY=SA', 'Europe/London'),
    [],
  ],
  [
    'a daily window at the end of the gap',
    windowOf('2026-11-28T02:00:00Z', 'FREQ=DAILY', 'Europe/London'),
    [],
  ],
  [
    'a daily window at the start of the gap',
    windowOf('2026-11-28T01:00:00Z', 'FREQ=DAILY', 'Europe/London'),
    ['2027-03-28T01:00:00 never', '2027-10-31T01:00:00 twice'],
  ],
  [
    'a gap of half an hour',
    windowOf('2026-11-27T15:15:00Z', 'FREQ=DAILY', 'Australia/Lord_Howe'),
    ['2027-10-03T02:15:00 never'],
  ],
  [
    'the southern hemisphere',
    windowOf('2026-11-27T15:30:00Z', 'FREQ=DAILY', 'Australia/Sydney'),
    ['2027-04-04T02:30:00 twice', '2027-10-03T02:30:00 never'],
  ],
  [
    'several times of day',
    windowOf('2026-11-28T01:30:00Z', 'FREQ=DAILY;BYHOUR=1,12', 'Europe/London'),
    ['2027-03-28T01:30:00 never', '2027-10-31T01:30:00 twice'],
  ],
  [
    'a rule that ends before the change in autumn',
    windowOf('2026-11-29T01:30:00Z', 'FREQ=WEEKLY;UNTIL=20270601T000000Z', 'Europe/London'),
    ['2027-03-28T01:30:00 never'],
  ],
  [
    'a counted rule that ends before it',
    windowOf('2026-11-29T01:30:00Z', 'FREQ=WEEKLY;COUNT=20', 'Europe/London'),
    ['2027-03-28T01:30:00 never'],
  ],
  ['a zone without clock changes', windowOf('2026-11-29T01:30:00Z', 'FREQ=DAILY', 'Asia/Kolkata'), []],
  ['elapsed hours', windowOf('2026-11-29T01:30:00Z', 'FREQ=HOURLY;INTERVAL=6', 'Europe/London'), []],
  ['a window that takes place once', windowOf('2026-11-29T01:30:00Z', null, 'Europe/London'), []],
])('%s', (_, window, expected) => {
  const changes = clockChanges(window, NOW, LATER);
  expect(changes.map(({ localTime, occurs }) => `${localTime} ${occurs}`)).toEqual(expected);
});

test('the occurrences are those that the changes announce', () => {
  const window = windowOf('2027-03-21T01:30:00Z', 'FREQ=WEEKLY;BYDAY=SU', 'Europe/London');
  const starts = previewOccurrences(window, 40, NOW).map(({ startsAt }) => startsAt.toISOString());
  // Never on 28 March, and at the first 01:30 on 31 October.
  expect(starts.slice(0, 2)).toEqual(['2027-03-21T01:30:00.000Z', '2027-04-04T00:30:00.000Z']);
  expect(starts).toContain('2027-10-31T00:30:00.000Z');
  expect(starts).not.toContain('2027-10-31T01:30:00.000Z');
});
