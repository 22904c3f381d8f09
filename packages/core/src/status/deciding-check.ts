import type { ErrorReason } from '@tocsin/contracts/vocabulary';
import type { RegionState } from './apply-check.ts';
import { hasSay, type StatusRules } from './evaluate-status.ts';

/** The check that a status is blamed on, where no check brings it about just now. */
export interface DecidingCheck {
  readonly region: string;
  readonly latencyMs: number;
  readonly errorReason: ErrorReason | null;
}

/**
 * The last check of a failing region for DOWN, of one that is not for UP: of a region that has a say if there is one, and for UP
 * of one whose check passed if there is one. Where no such region has reported: the first region, with a latency of 0.
 * @param now epoch milliseconds
 */
export function decidingCheck(
  rules: StatusRules,
  regions: readonly RegionState[],
  status: 'UP' | 'DOWN',
  now: number,
): DecidingCheck {
  const rank = (region: RegionState): number =>
    (hasSay(rules, region, now) ? 2 : 0) + (status === 'UP' && region.consecutiveFailures === 0 ? 1 : 0);
  const best = regions
    .filter((region) => region.lastResultAt !== null)
    .filter((region) => region.consecutiveFailures >= rules.failureThreshold === (status === 'DOWN'))
    .toSorted(
      (one, other) => rank(other) - rank(one) || (other.lastResultAt ?? 0) - (one.lastResultAt ?? 0),
    )[0];
  return {
    region: best?.region ?? regions[0]?.region ?? '',
    latencyMs: best?.lastLatencyMs ?? 0,
    errorReason: best?.lastErrorReason ?? null,
  };
}
