import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { PROPERTY_PARAMETERS } from '../testing/property-parameters.ts';
import { isAnnounced, MonitorClock, webhookEventsOf } from './webhook-events.ts';

fc.configureGlobal(PROPERTY_PARAMETERS);

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

describe('MonitorClock', () => {
  test('timestamps strictly increase and are never in the past', () => {
    fc.assert(
      fc.property(fc.option(fc.nat()), fc.nat(), fc.integer({ min: 1, max: 9 }), (last, now, count) => {
        const clock = new MonitorClock(last, now);
        let before = last ?? -1;
        for (let index = 0; index < count; index += 1) {
          const stamp = clock.next();
          expect(stamp).toBeGreaterThan(before);
          expect(stamp).toBeGreaterThanOrEqual(now);
          before = stamp;
        }
        expect(clock.last).toBe(before);
      }),
    );
  });
});
