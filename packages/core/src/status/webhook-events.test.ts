import { describe, expect, test } from '@jest/globals';
import { isAnnounced, webhookEventsOf } from './webhook-events.ts';

describe('webhookEventsOf', () => {
  test.each([
    ['PENDING', 'UP', false, []],
    ['PENDING', 'DOWN', false, ['monitor.down', 'incident.created']],
    ['UP', 'DOWN', false, ['monitor.down', 'incident.created']],
    ['UP', 'DOWN', true, ['monitor.down']],
    ['DOWN', 'UP', true, ['monitor.up', 'incident.resolved']],
    ['DOWN', 'UP', false, ['monitor.up']],
  ] as const)('%s to %s, incident open: %s', (from, to, open, expected) => {
    expect(webhookEventsOf(to, isAnnounced(from, to), open)).toEqual(expected);
  });

  test.each([
    ['MAINTENANCE', true, ['monitor.maintenance']],
    ['MAINTENANCE', false, []],
    ['PENDING', true, []],
    ['DOWN', false, []],
    ['UP', false, []],
  ] as const)('to %s, announced: %s', (to, announced, expected) => {
    expect(webhookEventsOf(to, announced, true)).toEqual(expected);
  });
});
