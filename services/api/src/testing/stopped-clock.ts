import { jest } from '@jest/globals';

/** Controls `performance.now`. */
export interface StoppedClock {
  advance(ms: number): void;
  /** Uses the real clock again. */
  restore(): void;
}

/** Stops the clock of the api's deadlines. They pass only when a test advances it. */
export function stopClock(): StoppedClock {
  let now = performance.now();
  const spy = jest.spyOn(performance, 'now').mockImplementation(() => now);
  return { advance: (ms) => void (now += ms), restore: () => spy.mockRestore() };
}
