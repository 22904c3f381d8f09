import { describe, expect, test } from '@jest/globals';
import { windowsOf } from './windows.ts';

describe('windowsOf', () => {
  test.each([
    ['whole windows', 600_000, [300_000, 300_000]],
    ['a shorter last window', 420_000, [300_000, 120_000]],
    ['no part of an interval', 419_999, [300_000, 60_000]],
    ['nothing shorter than an interval', 59_999, []],
  ])('splits a span into %s', (_, length, expected) => {
    const from = 1_795_000_000_123;
    const windows = windowsOf({ from, to: from + length }, 60_000, 5);
    expect(windows.map((window) => window.to - window.from)).toEqual(expected);
    for (const [index, window] of windows.entries())
      expect(window.from).toBe(index === 0 ? from : windows[index - 1]?.to);
  });
});
