import type { performance } from 'node:perf_hooks';
import { expect, test } from '@jest/globals';
import { watchLoopLoad } from './event-loop.ts';

test('a process is busy while its event loop is never idle', () => {
  let now = 0;
  const total = { idle: 0, active: 0, utilization: 0 };
  const read = ((current?: typeof total, last?: typeof total) => {
    if (!current || !last) return { ...total };
    const active = current.active - last.active;
    return { ...total, utilization: active / (active + current.idle - last.idle) };
  }) as typeof performance.eventLoopUtilization;
  const isBusy = watchLoopLoad(() => now, read);
  const pass = (active: number, idle: number): boolean => {
    now += active + idle;
    total.active += active;
    total.idle += idle;
    return isBusy();
  };
  expect(pass(100, 400)).toBe(false);
  expect(pass(499, 1)).toBe(true);
  // It is too soon for another sample.
  expect(pass(0, 100)).toBe(true);
  expect(pass(0, 400)).toBe(false);
});
