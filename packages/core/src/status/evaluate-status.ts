import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { MAX_AHEAD_MS } from './monitor-clock.ts';

export interface StatusRules {
  readonly failureThreshold: number;
  /** Consecutive passes after which a failing region has recovered. */
  readonly recoveryThreshold: number;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
}

/** Last results of one region. Times are epoch milliseconds. */
export interface RegionVerdict {
  readonly consecutiveFailures: number;
  /** Consecutive passes of a region that still counts as failing. Null if it does not, or has not passed since it failed. */
  readonly recoveryPasses: number | null;
  /** Null until the region reports after it was assigned, its streak was reset, or all regions stopped reporting. */
  readonly lastResultAt: number | null;
  /** When the region was assigned, its streak was reset, or another region reported first after a silence of all. */
  readonly since: number;
}

/**
 * Returns the status that follows from `before` and the regions' results, or null if it stays. A monitor that is DOWN recovers only by a
 * check that passed (ADR 10): the regions that have reported must imply UP by themselves, and the last check of a witness must have passed.
 * Likewise, a monitor goes DOWN only by a check that failed. A passing check must not alert because other regions have not recovered yet.
 * @param witnesses regions whose last check may cause the change, which are all regions or the one that has just reported
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

/** Returns DOWN if most eligible regions are failing. Regions that have not reported count as passing. Null if no eligible region has reported. */
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

export function isFailing(rules: Thresholds, region: Streak): boolean {
  const { consecutiveFailures, recoveryPasses } = region;
  if (consecutiveFailures >= rules.failureThreshold) return true;
  return recoveryPasses !== null && recoveryPasses < rules.recoveryThreshold;
}

/** A retry confirms or refutes failures below the threshold. */
export function needsRetry(rules: Thresholds, region: Streak): boolean {
  return region.consecutiveFailures > 0 && !isFailing(rules, region);
}

/** A region counts if its last result, or else its assignment, is younger than three intervals plus the timeout, and not in the future. */
export function isEligible(rules: StatusRules, region: RegionVerdict, now: number): boolean {
  const ageMs = now - (region.lastResultAt ?? region.since);
  return ageMs < freshForMs(rules) && ageMs >= -MAX_AHEAD_MS;
}

function freshForMs({ intervalSeconds, timeoutSeconds }: StatusRules): number {
  return (3 * intervalSeconds + timeoutSeconds) * 1_000;
}

/** Reports whether a region counts by its own result, not only because it was just assigned. */
export function hasFreshResult(rules: StatusRules, region: RegionVerdict, now: number): boolean {
  return region.lastResultAt !== null && isEligible(rules, region, now);
}
