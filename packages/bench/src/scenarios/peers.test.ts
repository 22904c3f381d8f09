import { expect, test } from '@jest/globals';
import { combine } from './peers.ts';

test('combine adds up the probes and the CPU time of windows, and keeps the last memory', () => {
  const window = (completed: number, cpuMs: number, rssBytes: number) => ({
    expected: 100,
    completed,
    cpuMs: new Map([['prometheus', cpuMs]]),
    rssBytes: new Map([['prometheus', rssBytes]]),
    bytes: rssBytes,
  });
  expect(combine([window(90, 10, 1), window(100, 30, 2)])).toEqual({
    expected: 200,
    completed: 190,
    cpuMs: new Map([['prometheus', 40]]),
    rssBytes: new Map([['prometheus', 2]]),
    bytes: 2,
  });
});
