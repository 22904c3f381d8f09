import { expect, test } from '@jest/globals';
import { endOccurrence, type Occurrence, previewOccurrences, type WindowSchedule } from './occurrences.ts';

const NOW = new Date('2026-03-21T02:00:00Z');
const current = { startsAt: new Date('2026-03-21T01:00:00Z'), endsAt: new Date('2026-03-21T03:00:00Z') };
const next = { startsAt: new Date('2026-03-28T01:00:00Z'), endsAt: new Date('2026-03-28T03:00:00Z') };

function weekly(rrule: string, timeZone = 'UTC'): WindowSchedule {
  const [startsAt, endsAt] = [new Date('2026-03-14T01:00:00Z'), new Date('2026-03-14T03:00:00Z')];
  return { startsAt, endsAt, rrule, timeZone };
}

test('a window that takes place once ends now', () => {
  const once = { ...current, rrule: null, timeZone: 'UTC' };
  expect(endOccurrence(once, current, NOW)).toEqual({ ...once, endsAt: NOW });
});

test('a window that began at this moment gets an end after its start', () => {
  const once = { ...current, rrule: null, timeZone: 'UTC' };
  const { endsAt } = endOccurrence(once, current, current.startsAt);
  expect(endsAt.getTime() - current.startsAt.getTime()).toBe(1);
});

test('a window in its last occurrence keeps only that occurrence', () => {
  const ended = endOccurrence(weekly('FREQ=WEEKLY;COUNT=2'), current, NOW);
  expect(ended).toEqual({ startsAt: current.startsAt, endsAt: NOW, rrule: null, timeZone: 'UTC' });
});

test.each([
  ['FREQ=WEEKLY', 'FREQ=WEEKLY'],
  ['FREQ=WEEKLY;UNTIL=20260501T000000Z', 'FREQ=WEEKLY;UNTIL=20260501T000000Z'],
  ['FREQ=WEEKLY;COUNT=5', 'FREQ=WEEKLY;COUNT=3'],
])('%s continues with its next occurrence, as %s', (rrule, left) => {
  expect(endOccurrence(weekly(rrule), current, NOW)).toEqual({ ...weekly(left), ...next });
});

test.each([
  'FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,TU',
  'FREQ=MONTHLY;BYDAY=3SA;COUNT=9',
  'FREQ=DAILY;UNTIL=20260402T000000Z',
  'FREQ=HOURLY;INTERVAL=5;COUNT=40',
])('%s keeps its later occurrences, across a clock change', (rrule) => {
  const window = weekly(rrule, 'Europe/Berlin');
  const [, second] = previewOccurrences(window, 2, window.startsAt);
  const upcoming = (one: WindowSchedule): Occurrence[] =>
    previewOccurrences(one, 8, second?.endsAt ?? window.endsAt);
  const now = new Date((second?.startsAt.getTime() ?? 0) + 1);
  const ended = endOccurrence(window, second ?? window, now);
  expect(upcoming(window).length).toBeGreaterThan(4);
  expect(upcoming(ended)).toEqual(upcoming(window));
  expect(ended.startsAt > now).toBe(true);
});
