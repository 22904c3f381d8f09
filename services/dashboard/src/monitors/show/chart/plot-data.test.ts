import { expect, test } from '@jest/globals';
import type { MonitorStats } from '@tocsin/contracts/monitors/stats';
import { latencyTicks, latencyTop, timeTicks } from './plot-data.ts';

function bucketsOf(count: number, hours: number, highest = 0): MonitorStats['series'] {
  return Array.from({ length: count }, (_, index) => ({
    start: new Date(Date.UTC(2026, 0, 1, index * hours)).toISOString(),
    uptime: null,
    checks: 0,
    failures: 0,
    inconclusive: 0,
    gaps: 0,
    latency: null,
    timings: index === 1 ? { dns: highest - 10, tcp: 1, tls: 2, firstByte: 3, download: 4 } : null,
  }));
}

test('the latency axis has room above the bars, also without bars', () => {
  expect(latencyTop(bucketsOf(3, 1, 100))).toBeCloseTo(115);
  expect(latencyTop(bucketsOf(1, 1))).toBe(10);
});

test.each([
  [10, [0, 5, 10]],
  [115, [0, 50, 100]],
  [2_300, [0, 1_000, 2_000]],
])('the latency axis up to %d ms has the labels %j', (top, ticks) => {
  expect(latencyTicks(top)).toEqual(ticks);
});

test.each([
  ['24h', 24, 1, 8],
  ['7d', 168, 1, 7],
  ['30d', 120, 6, 6],
  ['90d', 90, 24, 6],
] as const)(
  'the time axis of %s has few labels, at whole hours of the reader',
  (window, count, hours, labels) => {
    const ticks = timeTicks(bucketsOf(count, hours), window);
    expect(Math.abs(ticks.length - labels)).toBeLessThanOrEqual(1);
    for (const { position } of ticks) {
      expect(position).toBeGreaterThanOrEqual(0);
      expect(position).toBeLessThan(1);
    }
  },
);
