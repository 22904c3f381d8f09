import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics, registerClockOffset } from '@tocsin/runtime/metrics';
import { captureLog } from '@tocsin/runtime/testing/captured-log';
import { ClockGuard } from './clock-guard.ts';

beforeEach(() => {
  // Both clocks must be read at the same moment.
  jest.spyOn(Date, 'now').mockReturnValue(1_800_000_000_000);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const off = (aheadMs: number) => async () => Date.now() - aheadMs;
/** Returns 0 for a right clock and null for an unknown offset. */
function millisecondsAhead({ offset }: ClockGuard): number | null {
  return offset && offset.aheadMs - offset.behindMs;
}
const unavailable = (): Promise<number> => Promise.reject(new Error('unavailable'));

test.each<[string, (() => Promise<number>)[], number]>([
  ['right', [off(0), off(0)], 0],
  ['a little fast', [off(9_000), off(9_000)], 9_000],
  ['a little slow', [off(-9_000), off(-9_000)], -9_000],
  ['right, and a store is slow', [off(60_000), off(0)], 0],
  ['between those of the stores', [off(-60_000), off(60_000)], 0],
])('checks are taken by a clock that is %s', async (_, clocks, aheadMs) => {
  const guard = new ClockGuard(clocks, createSilentLogger());
  await guard.update();
  expect([guard.isRight, millisecondsAhead(guard)]).toEqual([true, aheadMs]);
  await guard.check();
});

test.each<[string, (() => Promise<number>)[], number, string]>([
  ['a minute fast', [off(60_000), off(60_000)], 60_000, '60 s ahead of'],
  ['a minute slow', [off(-60_000), off(-60_000)], -60_000, '60 s behind'],
])('no checks are taken by a clock that is %s, which is logged', async (_, clocks, aheadMs, words) => {
  const { logger, text } = captureLog();
  const guard = new ClockGuard(clocks, logger);
  await guard.update();
  expect([guard.isRight, millisecondsAhead(guard)]).toEqual([false, aheadMs]);
  await expect(guard.check()).rejects.toThrow(`the clock is ${words} the stores' clocks`);
  await guard.update();
  expect(text().match(/it takes no checks until/g)).toHaveLength(1);
});

test('before a store responds, the checker takes no checks and is not ready, and later outages keep the last offset', async () => {
  let clocks = [unavailable, unavailable];
  const { logger, text } = captureLog();
  const guard = new ClockGuard(
    [0, 1].map((index) => () => clocks[index]?.() ?? unavailable()),
    logger,
  );
  await guard.update();
  await guard.update();
  expect([guard.isRight, guard.offset]).toEqual([false, null]);
  await expect(guard.check()).rejects.toThrow('the clock is not known yet');
  expect(text().match(/takes no checks until one does/g)).toHaveLength(1);
  clocks = [off(60_000), unavailable];
  await guard.update();
  expect([guard.isRight, millisecondsAhead(guard)]).toEqual([false, 60_000]);
  const registry = createMetrics();
  registerClockOffset(registry, async () => guard.offset);
  const metric = await registry.getSingleMetricAsString('tocsin_clock_offset_seconds');
  expect(metric).toMatch(/^tocsin_clock_offset_seconds 60$/m);
  clocks = [unavailable, unavailable];
  await guard.update();
  expect([guard.isRight, millisecondsAhead(guard)]).toEqual([false, 60_000]);
  clocks = [unavailable, off(0)];
  await guard.update();
  expect(guard.isRight).toBe(true);
  await guard.check();
});

test('a clock that was wrong by more than 10 s is right again below 8 s', async () => {
  let aheadMs = 0;
  const guard = new ClockGuard([() => off(aheadMs)()], createSilentLogger());
  const seen: boolean[] = [];
  for (aheadMs of [10_000, 10_001, 9_999, 8_001, 8_000, 9_999]) {
    await guard.update();
    seen.push(guard.isRight);
  }
  expect(seen).toEqual([true, false, false, false, true, true]);
});
