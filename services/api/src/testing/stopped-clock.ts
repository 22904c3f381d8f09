import { jest } from '@jest/globals';

/** What `performance.now` shows. */
export interface StoppedClock {
  advance(ms: number): void;
  /** The true clock from now on. */
  restore(): void;
}

/** Stops the clock by which the api measures how long it waits: a deadline passes when a test says so, and on a slow machine no earlier. */
export function stopClock(): StoppedClock {
  let now = performance.now();
  const spy = jest.spyOn(performance, 'now').mockImplementation(() => now);
  return { advance: (ms) => void (now += ms), restore: () => spy.mockRestore() };
}
