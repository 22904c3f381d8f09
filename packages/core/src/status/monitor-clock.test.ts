import { expect, test } from '@jest/globals';
import { fc } from '../testing/fast-check.ts';
import { MonitorClock } from './monitor-clock.ts';

test('the timestamps of a monitor strictly increase and are never in the past', () => {
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
