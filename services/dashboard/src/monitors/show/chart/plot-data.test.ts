import { expect, test } from '@jest/globals';
import type { MonitorStats } from '@tocsin/contracts/monitors/stats';
import { latencyTop, timeRange, toPlotData } from './plot-data.ts';

const NONE = { uptime: null, checks: 0, failures: 0, gaps: 0, latency: null, timings: null };
const BUCKETS: MonitorStats['series'] = [
  {
    ...NONE,
    start: '2026-01-01T00:00:00.000Z',
    timings: { dns: 1, tcp: 2, tls: 3, firstByte: 40, download: 5 },
  },
  { ...NONE, start: '2026-01-01T01:00:00.000Z' },
];
const FIRST = Date.parse('2026-01-01T00:00:00.000Z') / 1_000;

test('stacks phases at the middles of the buckets, the largest sum first; an empty bucket has none', () => {
  expect(toPlotData(BUCKETS, '24h')).toEqual([
    [FIRST + 1_800, FIRST + 5_400],
    [51, null],
    [46, null],
    [6, null],
    [3, null],
    [1, null],
  ]);
});

test('the time axis covers every bucket', () => {
  expect(timeRange(BUCKETS, '24h')).toEqual([FIRST, FIRST + 2 * 3_600]);
  expect(timeRange(BUCKETS, '30d')).toEqual([FIRST, FIRST + 2 * 6 * 3_600]);
  expect(timeRange([], '24h')[1]).toBeGreaterThan(timeRange([], '24h')[0]);
});

test('the latency axis has room above the bars, also without bars', () => {
  expect(latencyTop(100)).toBeCloseTo(115);
  expect(latencyTop(0)).toBe(10);
  expect(latencyTop(null)).toBe(10);
});
