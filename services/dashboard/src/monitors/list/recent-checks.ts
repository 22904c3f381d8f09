import { LIMITS } from '@tocsin/contracts/limits';
import type { RecentChecks } from '@tocsin/contracts/monitors/events';
import { formatLatency } from '../../components/format-latency.ts';

export type RecentCheck = RecentChecks['checks'][number];

/** So many of a monitor are kept and drawn. */
export const MOST_CHECKS = LIMITS.recentChecks.checks;

/**
 * The latest of both, oldest first, each once: the timestamps of a monitor's checks are unique.
 * @returns `known` itself where nothing is new
 */
export function mergeChecks(
  known: readonly RecentCheck[],
  added: readonly RecentCheck[],
): readonly RecentCheck[] {
  const byTime = new Map(known.map((check) => [check.timestamp, check]));
  for (const check of added) if (!byTime.has(check.timestamp)) byTime.set(check.timestamp, check);
  if (byTime.size === known.length) return known;
  return [...byTime.values()]
    .sort((one, other) => (one.timestamp < other.timestamp ? -1 : 1))
    .slice(-MOST_CHECKS);
}

/** As "29 of 30 checks passed". */
export function describePassed(checks: readonly RecentCheck[]): string {
  if (checks.length === 0) return 'No checks yet';
  const passed = checks.filter(({ status }) => status === 'UP').length;
  return `${passed} of ${checks.length} ${checks.length === 1 ? 'check' : 'checks'} passed`;
}

/** As "Latency 95 ms to 340 ms". */
export function describeLatencies(checks: readonly RecentCheck[]): string {
  const latencies = checks.filter(wasAnswered).map(({ latency }) => latency);
  if (latencies.length === 0) return 'No latency yet';
  const [lowest, highest] = [Math.min(...latencies), Math.max(...latencies)].map(formatLatency);
  return lowest === highest ? `Latency ${highest}` : `Latency ${lowest} to ${highest}`;
}

/** Milliseconds of the latest check; null where it was not answered, and without any. */
export function latestLatency(checks: readonly RecentCheck[]): number | null {
  const latest = checks.at(-1);
  return latest !== undefined && wasAnswered(latest) ? latest.latency : null;
}

/** A check that failed without an answer has a latency of 0. */
export function wasAnswered({ status, latency }: RecentCheck): boolean {
  return status === 'UP' || latency > 0;
}
