import { expect, test } from '@jest/globals';
import { windowOf } from '../testing/window-of.ts';
import { clockChanges } from './clock-changes.ts';

const NOW = new Date('2026-11-23T00:00:00Z');
const LATER = new Date('2027-12-28T00:00:00Z');

const [LONDON, SYDNEY, LORD_HOWE] = ['Europe/London', 'Australia/Sydney', 'Australia/Lord_Howe'];
/** The changes of 2027 at 01:30 in London. */
const [NEVER, TWICE] = ['2027-03-28T01:30:00 never', '2027-10-31T01:30:00 twice'];

test.each<[string, string, string | null, string, string[]]>([
  ['weekly', '2026-11-29T01:30Z', 'FREQ=WEEKLY;BYDAY=SU', LONDON, [NEVER, TWICE]],
  ['on another day of the week', '2026-11-28T01:30Z', 'FREQ=WEEKLY;BYDAY=SA', LONDON, []],
  ['at the end of the gap', '2026-11-28T02:00Z', 'FREQ=DAILY', LONDON, []],
  [
    'at the start of the gap',
    '2026-11-28T01:00Z',
    'FREQ=DAILY',
    LONDON,
    ['2027-03-28T01:00:00 never', '2027-10-31T01:00:00 twice'],
  ],
  ['a gap of half an hour', '2026-11-27T15:15Z', 'FREQ=DAILY', LORD_HOWE, ['2027-10-03T02:15:00 never']],
  [
    'in the southern hemisphere',
    '2026-11-27T15:30Z',
    'FREQ=DAILY',
    SYDNEY,
    ['2027-04-04T02:30:00 twice', '2027-10-03T02:30:00 never'],
  ],
  ['at several times of day', '2026-11-28T01:30Z', 'FREQ=DAILY;BYHOUR=1,12', LONDON, [NEVER, TWICE]],
  [
    'until before the change in autumn',
    '2026-11-29T01:30Z',
    'FREQ=WEEKLY;UNTIL=20270601T000000Z',
    LONDON,
    [NEVER],
  ],
  ['counted until before it', '2026-11-29T01:30Z', 'FREQ=WEEKLY;COUNT=20', LONDON, [NEVER]],
  ['without clock changes', '2026-11-29T01:30Z', 'FREQ=DAILY', 'Asia/Kolkata', []],
  ['by elapsed hours', '2026-11-29T01:30Z', 'FREQ=HOURLY;INTERVAL=6', LONDON, []],
  ['once', '2026-11-29T01:30Z', null, LONDON, []],
])('the clock changes of a window %s', (_, startsAt, rrule, timeZone, expected) => {
  const changes = clockChanges(windowOf(startsAt, rrule, timeZone), NOW, LATER);
  expect(changes.map(({ localTime, occurs }) => `${localTime} ${occurs}`)).toEqual(expected);
});
