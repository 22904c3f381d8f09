import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { evaluateStatus, hasFreshResult, type RegionVerdict, type StatusRules } from './evaluate-status.ts';

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
