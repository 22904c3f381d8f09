import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger, createSilentLogger } from './logger.ts';
import { createLoop } from './loop.ts';
import type { Loop } from './loop.ts';
import { until } from './testing/until.ts';

const logger = createSilentLogger();
const HOUR_MS = 3_600_000;
let loop: Loop | undefined;

function useFakeTimers(): void {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
}

/** Resolves once every promise that can settle without a timer has settled. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

afterEach(async () => {
  jest.useRealTimers();
  await loop?.stop();
});

describe('createLoop', () => {
  it('runs immediately, then at regular intervals, and continues after errors', async () => {
    let runs = 0;
    let log = '';
    const stream = new PassThrough().setEncoding('utf8').on('data', (text: string) => (log += text));
    loop = createLoop({
      name: 'test',
      everyMs: 1,
      logger: createLogger({ service: 'test', format: 'json', stream }),
      work: () => Promise.reject(new Error(`run ${(runs += 1)}`)),
    });
    await until('the third run', () => runs >= 3);
    expect(log).toMatch(/test failed.*"message":"run 1".*\n.*test failed.*"message":"run 2"/);
  });

  it('never overlaps, and runs once more right after a run that was woken', async () => {
    useFakeTimers();
    let runs = 0;
    let active = 0;
    let release: (() => void) | undefined;
    loop = createLoop({
      name: 'test',
      everyMs: HOUR_MS,
      logger,
      async work() {
        runs += 1;
        active += 1;
        expect(active).toBe(1);
        await new Promise<void>((resolve) => (release = resolve));
        active -= 1;
      },
    });
    loop.wake();
    loop.wake();
    expect(runs).toBe(1);
    release?.();
    await settle();
    jest.advanceTimersByTime(1);
    expect(runs).toBe(2);
    release?.();
    await settle();
    expect(active).toBe(0);
    jest.advanceTimersByTime(HOUR_MS / 2);
    expect(runs).toBe(2);
    loop.wake();
    expect(runs).toBe(3);
    release?.();
  });

  it('runs once for a burst of wakes, whether a run is in progress or not', async () => {
    useFakeTimers();
    let runs = 0;
    let release: (() => void) | undefined;
    loop = createLoop({
      name: 'test',
      everyMs: HOUR_MS,
      gatherMs: 500,
      logger,
      async work() {
        runs += 1;
        await new Promise<void>((resolve) => (release = resolve));
      },
    });
    const burst = async (): Promise<void> => {
      for (let wakes = 0; wakes < 20; wakes += 1) {
        loop?.wake();
        await settle();
      }
    };
    await burst();
    release?.();
    await burst();
    jest.advanceTimersByTime(499);
    expect(runs).toBe(1);
    jest.advanceTimersByTime(1);
    expect(runs).toBe(2);
    release?.();
    await settle();
    await burst();
    jest.advanceTimersByTime(499);
    expect(runs).toBe(2);
    jest.advanceTimersByTime(1);
    expect(runs).toBe(3);
    release?.();
  });

  it('aborts and awaits the running work when stopped, and does not run again', async () => {
    useFakeTimers();
    let runs = 0;
    let finish: (() => void) | undefined;
    loop = createLoop({
      name: 'test',
      everyMs: 1,
      logger,
      async work(signal) {
        runs += 1;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await new Promise<void>((resolve) => (finish = resolve));
      },
    });
    let hasStopped = false;
    const stopping = loop.stop().then(() => (hasStopped = true));
    await settle();
    expect(hasStopped).toBe(false);
    finish?.();
    await stopping;
    loop.wake();
    jest.advanceTimersByTime(HOUR_MS);
    expect(runs).toBe(1);
  });
});
