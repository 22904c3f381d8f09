import { expect, test } from '@jest/globals';
import { barScale, phaseShares } from './phases.ts';

test.each([
  [0, 1],
  [1, 1],
  [2, 2],
  [3, 5],
  [10, 10],
  [11, 20],
  [51, 100],
  [4_999, 5_000],
  [60_000, 100_000],
])('the scale for %d ms is %d ms', (longest, scale) => {
  expect(barScale(longest)).toBe(scale);
});

const TIMINGS = { dns: 10, tcp: null, tls: 0, firstByte: 30, download: 10 };

test('phases without a duration are not in the bar', () => {
  expect(phaseShares(TIMINGS, 100)).toEqual([
    { phase: 'dns', color: '--phase-dns', percent: 10 },
    { phase: 'firstByte', color: '--phase-first-byte', percent: 30 },
    { phase: 'download', color: '--phase-download', percent: 10 },
  ]);
});

test('the shares sum to at most 100%', () => {
  const shares = phaseShares(TIMINGS, 25);
  expect(shares.reduce((sum, { percent }) => sum + percent, 0)).toBeCloseTo(100);
});

test('a check without phases has no bar', () => {
  expect(phaseShares({ dns: null, tcp: null, tls: null, firstByte: null, download: null }, 100)).toEqual([]);
});
