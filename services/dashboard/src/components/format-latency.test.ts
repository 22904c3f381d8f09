import { expect, test } from '@jest/globals';
import { formatLatency } from './format-latency.ts';

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [1_240, '1.24 s'],
  [1_500, '1.5 s'],
  [10_000, '10 s'],
  [12_340, '12.3 s'],
  [60_000, '60 s'],
])('%d ms read %s', (ms, text) => {
  expect(formatLatency(ms)).toBe(text);
});
