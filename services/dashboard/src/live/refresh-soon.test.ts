import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { QueryClient } from '@tanstack/react-query';
import { refreshSoon } from './apply-to-cache.ts';

const KEY = ['incidents'];
const EVERY_MS = 1_000;

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** How often was asked again. */
function counted(): { queryClient: QueryClient; times: () => number } {
  const queryClient = new QueryClient();
  const invalidate = jest.spyOn(queryClient, 'invalidateQueries').mockResolvedValue();
  return { queryClient, times: () => invalidate.mock.calls.length };
}

test('many calls are one request a second, and the last of them is heard', () => {
  const { queryClient, times } = counted();
  const { ask } = refreshSoon(queryClient, KEY, EVERY_MS);
  for (let passed = 0; passed < 5_000; passed += 250) {
    ask();
    jest.advanceTimersByTime(250);
  }
  jest.advanceTimersByTime(EVERY_MS);
  expect(times()).toBe(5);
});

test('what is on its way is waited for, not cancelled', () => {
  const { queryClient, times } = counted();
  const fetching = jest.spyOn(queryClient, 'isFetching').mockReturnValue(1);
  refreshSoon(queryClient, KEY, EVERY_MS).ask();
  jest.advanceTimersByTime(5 * EVERY_MS);
  expect(times()).toBe(0);
  fetching.mockReturnValue(0);
  jest.advanceTimersByTime(EVERY_MS);
  expect(times()).toBe(1);
});

test('nothing is asked after its end', () => {
  const { queryClient, times } = counted();
  const { ask, stop } = refreshSoon(queryClient, KEY, EVERY_MS);
  ask();
  stop();
  jest.advanceTimersByTime(5 * EVERY_MS);
  expect(times()).toBe(0);
});
