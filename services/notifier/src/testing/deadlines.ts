import { jest } from '@jest/globals';

/** Longer than any test runs, so that no attempt times out on a busy machine. */
export const NO_DEADLINE_MS = 600_000;

/**
 * Stops the clock behind `setTimeout` until `jest.useRealTimers`. It moves only with `jest.advanceTimersByTime`, so that a deadline passes at
 * a known moment even on a busy machine.
 */
export function holdTimeouts(): void {
  jest.useFakeTimers({
    // Everything but `setTimeout` and `clearTimeout`.
    doNotFake: [
      'Date',
      'hrtime',
      'nextTick',
      'performance',
      'queueMicrotask',
      'setImmediate',
      'clearImmediate',
      'setInterval',
      'clearInterval',
      'requestAnimationFrame',
      'cancelAnimationFrame',
      'requestIdleCallback',
      'cancelIdleCallback',
    ],
  });
}
