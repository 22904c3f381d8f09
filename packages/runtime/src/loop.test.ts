import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createSilentLogger } from './logger.ts';
import { createLoop, type Loop, type LoopOptions } from './loop.ts';
import { captureLog } from './testing/captured-log.ts';
import { until } from './testing/until.ts';

const HOUR_MS = 3_600_000;
let loop: Loop | undefined;
/** Number of runs of the work in `startHolding`. `active` counts those in progress. */
let runs: number;
let active: number;
let release: (() => void) | undefined;
beforeEach(() => {
  [runs, active] = [0, 0];
});
afterEach(async () => {
  jest.useRealTimers();
  await loop?.stop();
});

function start(options: Partial<LoopOptions>): Loop {
  const work = async (): Promise<void> => undefined;
  loop = createLoop({ name: 'test', everyMs: HOUR_MS, logger: createSilentLogger(), work, ...options });
  return loop;
}

/** Starts a loop under fake timers whose runs last until `release`. */
function startHolding(options: Partial<LoopOptions> = {}): Loop {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  return start({
    work: async () => {
      runs += 1;
      active += 1;
      await new Promise<void>((resolve) => (release = resolve));
      active -= 1;
    },
    ...options,
  });
}

/** Resolves once every promise that can settle without a timer has settled. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('createLoop', () => {
  test('runs immediately, then at regular intervals, and continues after errors', async () => {
    const { logger, text } = captureLog();
    start({ everyMs: 1, logger, work: () => Promise.reject(new Error(`run ${(runs += 1)}`)) });
    await until('the third run', () => runs >= 3);
    expect(text()).toMatch(/test failed.*"message":"run 1".*\n.*test failed.*"message":"run 2"/);
  });

  test('never overlaps, and runs once more right after a run that was woken', async () => {
    const held = startHolding();
    held.wake();
    held.wake();
    expect(runs).toBe(1);
    release?.();
    await settle();
    jest.advanceTimersByTime(1);
    expect([runs, active]).toEqual([2, 1]);
    release?.();
    await settle();
    jest.advanceTimersByTime(HOUR_MS / 2);
    expect([runs, active]).toEqual([2, 0]);
    held.wake();
    expect(runs).toBe(3);
    release?.();
  });

  test('runs once for a burst of wakes, whether a run is in progress or not', async () => {
    const held = startHolding({ gatherMs: 500 });
    const burst = async (): Promise<void> => {
      for (let wakes = 0; wakes < 20; wakes += 1) {
        held.wake();
        await settle();
      }
    };
    /** Lets the gathering time pass and expects one more run at its end. */
    const expectOneRun = (before: number): void => {
      jest.advanceTimersByTime(499);
      expect(runs).toBe(before);
      jest.advanceTimersByTime(1);
      expect(runs).toBe(before + 1);
    };
    await burst();
    release?.();
    await burst();
    expectOneRun(1);
    release?.();
    await settle();
    await burst();
    expectOneRun(2);
    release?.();
  });

  test('aborts and awaits the running work when stopped, and does not run again', async () => {
    const held = startHolding({
      everyMs: 1,
      work: async (signal) => {
        runs += 1;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await new Promise<void>((resolve) => (release = resolve));
      },
    });
    let hasStopped = false;
    const stopping = held.stop().then(() => (hasStopped = true));
    await settle();
    expect(hasStopped).toBe(false);
    release?.();
    await stopping;
    held.wake();
    jest.advanceTimersByTime(HOUR_MS);
    expect(runs).toBe(1);
  });
});
