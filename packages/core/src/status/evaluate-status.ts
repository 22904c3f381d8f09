import type { MonitorStatus } from '@tocsin/contracts/vocabulary';

/** What a monitor's status is judged by; times in seconds. */
export interface StatusRules {
  readonly failureThreshold: number;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
}

/** What one region last said of a monitor. Times are epoch milliseconds. */
export interface RegionVerdict {
  readonly consecutiveFailures: number;
  /** Null until the region has reported (since it was assigned, its streak was reset, or every region had fallen silent). */
  readonly lastResultAt: number | null;
  /** When the region was assigned, its streak was reset, or another one ended the silence of all. */
  readonly since: number;
}

/**
 * The status that the regions' verdicts imply now, or null where the status stays as it is (design §4 "Region"). Whether a
 * monitor that is DOWN may follow it is `judgeStatus`'s to say.
 *
 * A region has a say while its last result, or for one that has not reported its assignment, is younger than three
 * intervals plus the timeout. It is failing once its consecutive failures reach the threshold; not reported counts
 * as passing. DOWN needs a strict majority of the regions with a say. The status stays where nobody with a say has
 * reported: without a check there is nothing to judge by.
 */
export function evaluateStatus(
  rules: StatusRules,
  regions: readonly RegionVerdict[],
  now: number,
): 'UP' | 'DOWN' | null {
  const voters = regions.filter((region) => hasSay(rules, region, now));
  const reported = voters.filter((region) => region.lastResultAt !== null);
  if (reported.length === 0) return null;
  const failing = reported.filter((region) => region.consecutiveFailures >= rules.failureThreshold).length;
  return failing * 2 > voters.length ? 'DOWN' : 'UP';
}

/** Whether a region counts: its last result, or its assignment, is not stale. */
export function hasSay(rules: StatusRules, region: RegionVerdict, now: number): boolean {
  const freshForMs = (3 * rules.intervalSeconds + rules.timeoutSeconds) * 1_000;
  return now - (region.lastResultAt ?? region.since) < freshForMs;
}

/** Whether a region has a say by a result of its own. */
export function hasFreshResult(rules: StatusRules, region: RegionVerdict, now: number): boolean {
  return region.lastResultAt !== null && hasSay(rules, region, now);
}

/**
 * The status that follows from `before` by what the regions say now, or null where it stays (design §4 "Status", ADR 10).
 *
 * Whoever is DOWN recovers by a check that passed and by nothing else: not by streaks that were reset, nor by a region
 * that went stale, nor by one that was assigned and has not reported. So the regions that have reported must imply UP by
 * themselves, and one of the witnesses' last checks must have passed.
 * @param witnesses whose last check may show a recovery: all regions, or the one that has just reported
 */
export function judgeStatus(
  rules: StatusRules,
  before: MonitorStatus,
  regions: readonly RegionVerdict[],
  now: number,
  witnesses: readonly RegionVerdict[] = regions,
): 'UP' | 'DOWN' | null {
  const implied = evaluateStatus(rules, regions, now);
  if (before !== 'DOWN' || implied !== 'UP') return implied;
  const fresh = (region: RegionVerdict): boolean => hasFreshResult(rules, region, now);
  const passed = witnesses.some((region) => fresh(region) && region.consecutiveFailures === 0);
  return passed && evaluateStatus(rules, regions.filter(fresh), now) === 'UP' ? 'UP' : null;
}
