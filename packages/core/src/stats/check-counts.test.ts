import { describe, expect, test } from '@jest/globals';
import { addCounts, averageTimings, type CheckCounts, figuresOf } from './check-counts.ts';
import { latencyBucket } from '../testing/latency-bucket.ts';

const NO_TIME = { dns: 0, tcp: 0, tls: 0, firstByte: 0, download: 0 };

const counts = (fields: Partial<CheckCounts>): CheckCounts => ({
  checks: 0,
  failures: 0,
  inconclusive: 0,
  gaps: 0,
  latencies: new Map(),
  timedChecks: 0,
  timingSumsMs: NO_TIME,
  ...fields,
});

describe('counts of checks', () => {
  test('add up, including histograms and timings', () => {
    const one = counts({
      checks: 3,
      failures: 1,
      gaps: 2,
      latencies: new Map([[latencyBucket(10), 2]]),
      timedChecks: 2,
      timingSumsMs: { dns: 1, tcp: 2, tls: 3, firstByte: 4, download: 5 },
    });
    const other = counts({ checks: 1, latencies: new Map([[latencyBucket(15), 1]]), timedChecks: 1 });
    expect(addCounts([one, other, one])).toEqual({
      checks: 7,
      failures: 2,
      inconclusive: 0,
      gaps: 4,
      latencies: new Map([
        [latencyBucket(10), 4],
        [latencyBucket(15), 1],
      ]),
      timedChecks: 5,
      timingSumsMs: { dns: 2, tcp: 4, tls: 6, firstByte: 8, download: 10 },
    });
  });

  test('of no checks have no pass rate, latency or timings', () => {
    const nothing = addCounts([]);
    expect(figuresOf(nothing)).toEqual({
      passRate: null,
      checks: 0,
      failures: 0,
      inconclusive: 0,
      gaps: 0,
      latency: null,
    });
    expect(averageTimings(nothing)).toBeNull();
    expect(figuresOf(counts({ gaps: 5 }))).toMatchObject({ passRate: null, gaps: 5 });
  });

  test('the pass rate is the share that passed, and timings are averages', () => {
    expect(figuresOf(counts({ checks: 8, failures: 2 })).passRate).toBe(0.75);
    expect(figuresOf(counts({ checks: 2, failures: 2 }))).toMatchObject({ passRate: 0, latency: null });
    const latencies = new Map(
      [1, 2, 3].map((latency, index) => [latencyBucket(latency), [50, 45, 5][index] ?? 0]),
    );
    expect(figuresOf(counts({ checks: 100, latencies })).latency).toEqual({ p50: 1, p95: 2, p99: 3 });
    const sums = { ...NO_TIME, dns: 7, firstByte: 10 };
    expect(averageTimings(counts({ timedChecks: 4, timingSumsMs: sums }))).toEqual({
      ...NO_TIME,
      dns: 2,
      firstByte: 3,
    });
  });
});
