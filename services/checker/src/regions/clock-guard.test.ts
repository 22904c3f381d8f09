import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { ClockGuard } from './clock-guard.ts';

beforeEach(() => {
  // Both clocks are read at one moment.
  jest.spyOn(Date, 'now').mockReturnValue(1_800_000_000_000);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const off = (aheadMs: number) => async () => Date.now() - aheadMs;
const away = (): Promise<number> => Promise.reject(new Error('away'));

test.each<[string, (() => Promise<number>)[], boolean]>([
  ['right', [off(0), off(0)], false],
  ['a little fast', [off(9_000), off(9_000)], false],
  ['fast', [off(60_000), off(60_000)], true],
  ['slow', [off(-60_000), off(-60_000)], false],
  ['right, and a store is slow', [off(60_000), off(0)], false],
])('a clock that is %s', async (_, clocks, fast) => {
  const guard = new ClockGuard({ clocks, logger: createSilentLogger() });
  await guard.look();
  expect([guard.isFast, guard.isRight]).toEqual([fast, !fast]);
  if (fast) await expect(guard.check()).rejects.toThrow('the clock is 60 s ahead');
  else await guard.check();
});

test('nobody knows before a store has answered; what was seen stays true while none does', async () => {
  let clocks = [away, away];
  const guard = new ClockGuard({
    clocks: [0, 1].map((index) => () => clocks[index]?.() ?? away()),
    logger: createSilentLogger(),
  });
  await guard.look();
  expect([guard.isFast, guard.isRight]).toEqual([false, false]);
  clocks = [off(60_000), away];
  await guard.look();
  expect([guard.isFast, guard.isRight]).toEqual([true, false]);
  clocks = [away, away];
  await guard.look();
  expect([guard.isFast, guard.isRight]).toEqual([true, false]);
  clocks = [away, off(0)];
  await guard.look();
  expect([guard.isFast, guard.isRight]).toEqual([false, true]);
});
