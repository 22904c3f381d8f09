import type { AverageTimings, StatsFigures } from '@tocsin/contracts/monitors/stats';
import { type LatencyHistogram, latencyQuantile, mergeHistograms } from './latency-histogram.ts';

export interface CheckCounts {
  readonly checks: number;
  readonly failures: number;
  /** Counted neither as checks nor as failures. */
  readonly inconclusive: number;
  readonly gaps: number;
  readonly latencies: LatencyHistogram;
  /** Checks with a response, whose timings are added up. */
  readonly timedChecks: number;
  readonly timingSumsMs: AverageTimings;
}

export function addCounts(counts: readonly CheckCounts[]): CheckCounts {
  const sum = (pick: (one: CheckCounts) => number): number =>
    counts.reduce((total, one) => total + pick(one), 0);
  return {
    checks: sum(({ checks }) => checks),
    failures: sum(({ failures }) => failures),
    inconclusive: sum(({ inconclusive }) => inconclusive),
    gaps: sum(({ gaps }) => gaps),
    latencies: mergeHistograms(counts.map(({ latencies }) => latencies)),
    timedChecks: sum(({ timedChecks }) => timedChecks),
    timingSumsMs: forEachTiming((timing) => sum(({ timingSumsMs }) => timingSumsMs[timing])),
  };
}

/** Returns the share of checks that passed, or null without checks. */
export function passRateOf({ checks, failures }: Pick<CheckCounts, 'checks' | 'failures'>): number | null {
  return checks === 0 ? null : (checks - failures) / checks;
}

export function figuresOf({ checks, failures, inconclusive, gaps, latencies }: CheckCounts): StatsFigures {
  const p50 = latencyQuantile(latencies, 0.5);
  const p95 = latencyQuantile(latencies, 0.95);
  const p99 = latencyQuantile(latencies, 0.99);
  const latency = p50 === null || p95 === null || p99 === null ? null : { p50, p95, p99 };
  return {
    passRate: passRateOf({ checks, failures }),
    checks,
    failures,
    inconclusive,
    gaps,
    latency,
  };
}

/** Returns the average timings in whole milliseconds, or null if no check got a response. */
export function averageTimings({ timedChecks, timingSumsMs }: CheckCounts): AverageTimings | null {
  if (timedChecks === 0) return null;
  return forEachTiming((timing) => Math.round(timingSumsMs[timing] / timedChecks));
}

function forEachTiming(figure: (timing: keyof AverageTimings) => number): AverageTimings {
  return {
    dns: figure('dns'),
    tcp: figure('tcp'),
    tls: figure('tls'),
    firstByte: figure('firstByte'),
    download: figure('download'),
  };
}
