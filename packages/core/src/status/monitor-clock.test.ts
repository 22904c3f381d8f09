import { expect, test } from '@jest/globals';
import { fc } from '../testing/fast-check.ts';
import { MAX_AHEAD_MS, MonitorClock } from './monitor-clock.ts';

test('the timestamps of a monitor strictly increase, and are neither in the past nor far in the future', () => {
  fc.assert(
    fc.property(fc.option(fc.nat()), fc.nat(), fc.integer({ min: 1, max: 9 }), (last, now, count) => {
      const clock = new MonitorClock(last, now);
      const isWrong = last !== null && last > now + MAX_AHEAD_MS;
      let before = isWrong ? now - 1 : (last ?? -1);
      for (let index = 0; index < count; index += 1) {
        const stamp = clock.next();
        expect(stamp).toBeGreaterThan(before);
        expect(stamp).toBeGreaterThanOrEqual(now);
        before = stamp;
      }
      expect(before).toBeLessThanOrEqual(now + MAX_AHEAD_MS + count);
      expect(clock.last).toBe(before);
    }),
  );
});
