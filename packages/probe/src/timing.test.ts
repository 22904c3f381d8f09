import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Deadline } from './timing.ts';

describe('a deadline', () => {
  let now: number;
  let interrupted: number;
  let deadline: Deadline;
  beforeEach(() => {
    jest.useFakeTimers();
    now = 0;
    interrupted = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    deadline = new Deadline(1_000);
    deadline.interrupt = () => (interrupted += 1);
  });
  afterEach(() => {
    deadline.close();
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  /** Runs the timers of the next `ms` milliseconds while this process is late. */
  function pass(ms: number, lateMs: number): void {
    now += ms + lateMs;
    jest.advanceTimersByTime(ms);
  }

  test('expires after reading the data that has arrived until then', () => {
    let stateWhenRead = '';
    pass(999, 0);
    // Sockets are read before the immediates of the timers.
    setImmediate(() => (stateWhenRead = deadline.state));
    pass(1, 0);
    jest.advanceTimersByTime(1);
    expect([stateWhenRead, deadline.state, interrupted]).toEqual(['running', 'expired', 1]);
  });

  test('gives a process that was short of CPU time another second, once', () => {
    pass(1_000, 300);
    jest.advanceTimersByTime(1);
    expect(deadline.state).toBe('running');
    pass(1_000, 5_000);
    jest.advanceTimersByTime(1);
    expect([deadline.state, interrupted]).toEqual(['expired', 1]);
  });

  test('does not expire after it was closed', () => {
    pass(1_000, 300);
    deadline.close();
    pass(5_000, 0);
    expect([deadline.state, interrupted]).toEqual(['running', 0]);
  });
});
