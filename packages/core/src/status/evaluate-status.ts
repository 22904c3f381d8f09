import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { MAX_AHEAD_MS } from './monitor-clock.ts';

/** The settings of a monitor that decide its status; times in seconds. */
export interface StatusRules {
  readonly failureThreshold: number;
  /** Consecutive passes after which a failing region has recovered. */
  readonly recoveryThreshold: number;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
}

/** The last results of one region. Times are epoch milliseconds. */
export interface RegionVerdict {
  readonly consecutiveFailures: number;
  /** Consecutive passes of a region that still counts as failing; null if it does not, or has not passed since. */
  readonly recoveryPasses: number | null;
  /** Null until the region reports: since it was assigned, its streak was reset, or all regions stopped reporting. */
  readonly lastResultAt: number | null;
  /** When the region was assigned, its streak was reset, or another region reported first after a silence of all. */
  readonly since: number;
}

/**
 * The status that follows from `before` and the regions' verdicts, or null if it stays. A monitor that is DOWN recovers only by a check
 * that passed (ADR 10): the regions that have reported must imply UP by themselves, and the last check of a witness must have passed.
 * Likewise, a monitor goes DOWN only by a check that failed: regions that have not recovered yet must not alert when one of them passes.
 * @param witnesses the regions whose last check may show the change: all of them, or the one that has just reported
 */
export function evaluateStatus(
  rules: StatusRules,
  before: MonitorStatus,
  regions: readonly RegionVerdict[],
  now: number,
  witnesses: readonly RegionVerdict[] = regions,
): 'UP' | 'DOWN' | null {
  const implied = impliedStatus(rules, regions, now);
  if (implied === null || implied === before) return implied;
  const fresh = (region: RegionVerdict): boolean => hasFreshResult(rules, region, now);
  if (implied === 'DOWN')
    return witnesses.some((region) => fresh(region) && region.consecutiveFailures > 0) ? 'DOWN' : null;
  if (before !== 'DOWN') return 'UP';
  const passed = witnesses.some((region) => fresh(region) && region.consecutiveFailures === 0);
  return passed && impliedStatus(rules, regions.filter(fresh), now) === 'UP' ? 'UP' : null;
}

/**
 * The status that the verdicts imply: DOWN if most eligible regions are failing. A region that has not reported counts as passing.
 * Null if no eligible region has reported.
 */
export function impliedStatus(
  rules: StatusRules,
  regions: readonly RegionVerdict[],
  now: number,
): 'UP' | 'DOWN' | null {
  const eligible = regions.filter((region) => isEligible(rules, region, now));
  const reported = eligible.filter((region) => region.lastResultAt !== null);
  if (reported.length === 0) return null;
  const failing = reported.filter((region) => isFailing(rules, region)).length;
  return failing * 2 > eligible.length ? 'DOWN' : 'UP';
}

type Thresholds = Pick<StatusRules, 'failureThreshold' | 'recoveryThreshold'>;
type Streak = Pick<RegionVerdict, 'consecutiveFailures' | 'recoveryPasses'>;

/** Whether a region fails: its streak has reached the threshold, and it has not recovered since. */
export function isFailing(rules: Thresholds, region: Streak): boolean {
  const { consecutiveFailures, recoveryPasses } = region;
  if (consecutiveFailures >= rules.failureThreshold) return true;
  return recoveryPasses !== null && recoveryPasses < rules.recoveryThreshold;
}

/** Whether a region fails without having reached the threshold, so that a retry brings certainty. */
export function isUnconfirmed(rules: Thresholds, region: Streak): boolean {
  return region.consecutiveFailures > 0 && !isFailing(rules, region);
}

/** Whether a region counts: its last result, or else its assignment, is younger than three intervals and the timeout, by a clock that was not ahead. */
export function isEligible(rules: StatusRules, region: RegionVerdict, now: number): boolean {
  const ageMs = now - (region.lastResultAt ?? region.since);
  return ageMs < freshForMs(rules) && ageMs >= -MAX_AHEAD_MS;
}

/** A result counts for this long, in milliseconds. */
function freshForMs({ intervalSeconds, timeoutSeconds }: StatusRules): number {
  return (3 * intervalSeconds + timeoutSeconds) * 1_000;
}

/** Whether a region counts by a result of its own. */
export function hasFreshResult(rules: StatusRules, region: RegionVerdict, now: number): boolean {
  return region.lastResultAt !== null && isEligible(rules, region, now);
}
