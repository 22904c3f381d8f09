import { expect, test } from '@jest/globals';
import { expectedWebhooks, type ImplyingEvent } from './oracle.ts';

const at = (second: number): number => Date.UTC(2026, 0, 1) + second * 1_000;

/** A check of each second: `+` passed, `-` failed. */
function eventsOf(course: string): ImplyingEvent[] {
  return Array.from(course, (mark, second) => ({
    timestamp: new Date(at(second)).toISOString(),
    status: mark === '+' ? 'UP' : 'DOWN',
    latency: second,
    errorReason: mark === '+' ? null : 'HTTP_500',
    region: 'north',
  }));
}

const steps = (course: string, from: number, until: number): string[] =>
  expectedWebhooks(
    {
      failureThreshold: 2,
      regions: ['north'],
      maintenance: [{ startsAt: at(from) - 500, endsAt: at(until) - 500 }],
    },
    eventsOf(course),
  ).map(({ event, previousStatus, latency }) => `${previousStatus} ${event} ${latency}`);

const DOWN = ['UP monitor.down 2', 'UP incident.created 2', 'DOWN monitor.maintenance 0'];

test('an outage that is over when maintenance ends is told then', () => {
  expect(steps('+--++++', 3, 6)).toEqual([
    ...DOWN,
    'MAINTENANCE monitor.up 5',
    'MAINTENANCE incident.resolved 5',
  ]);
});

test('where the last check of maintenance failed DOWN comes back without a word, until a check passes', () => {
  expect(steps('+--++-+', 3, 6)).toEqual([...DOWN, 'DOWN monitor.up 6', 'DOWN incident.resolved 6']);
});

test('one that lasts is told again, and is the same incident', () => {
  expect(steps('+------+', 3, 6)).toEqual([
    ...DOWN,
    'MAINTENANCE monitor.down 5',
    'DOWN monitor.up 7',
    'DOWN incident.resolved 7',
  ]);
});
