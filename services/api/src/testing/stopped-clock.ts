import { jest } from '@jest/globals';

/** What `performance.now` shows. */
export interface StoppedClock {
  advance(ms: number): void;
  /** The true clock from now on. */
  restore(): void;
}

/** Stops the clock of the api's deadlines, which then pass only when a test advances it. */
export function stopClock(): StoppedClock {
  let now = performance.now();
  const spy = jest.spyOn(performance, 'now').mockImplementation(() => now);
  return { advance: (ms) => void (now += ms), restore: () => spy.mockRestore() };
}
