import { expect, test } from '@jest/globals';
import { windowOf } from '../testing/window-of.ts';
import { planWindow } from './plan-window.ts';

const START = Date.UTC(2026, 4, 1);
const hourly = windowOf('2026-05-01T00:00:00Z', 'FREQ=HOURLY', 'UTC', 30);

test.each([
  [
    'ends without another occurrence',
    { ...hourly, rrule: null },
    30,
    { state: 'ended', next: null, missed: 0 },
  ],
  ['is scheduled for the next one', hourly, 30, { state: 'scheduled', next: 60, missed: 0 }],
  ['runs if the next one has begun', hourly, 65, { state: 'running', next: 60, missed: 0 }],
  ['has missed the occurrences that passed', hourly, 160, { state: 'scheduled', next: 180, missed: 2 }],
  ['has at most 200 missed ones', hourly, 500 * 60, { state: 'running', next: 500 * 60, missed: 200 }],
])('a window %s', (_, window, minutes, expected) => {
  const plan = planWindow(window, hourly, new Date(START + minutes * 60_000));
  const next = plan.next && (plan.next.startsAt.getTime() - START) / 60_000;
  expect({ state: plan.state, next, missed: plan.missed.length }).toEqual(expected);
});

test('a window whose rule cannot be evaluated ends, and is broken', () => {
  const ended = { state: 'ended', next: null, missed: [] };
  expect(planWindow({ ...hourly, rrule: 'FREQ=NEVER' }, hourly, hourly.endsAt)).toEqual({
    ...ended,
    broken: true,
  });
  expect(planWindow(hourly, null, hourly.endsAt)).toEqual({ ...ended, broken: false });
});
