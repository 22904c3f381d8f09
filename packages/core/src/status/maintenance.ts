import type { ErrorReason, MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { CheckEffect, MonitorState, RegionState } from './apply-check.ts';
import { hasSay, judgeStatus, type StatusRules } from './evaluate-status.ts';

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

/** A status that maintenance can cover. */
export type CoveredStatus = Exclude<MonitorStatus, 'MAINTENANCE'>;

/** How a monitor comes out of maintenance. */
export interface MaintenanceExit {
  readonly to: CoveredStatus;
  /** Whether anybody is to hear of it; otherwise the status changes silently. */
  readonly announced: boolean;
  readonly check: DecidingCheck;
}

/**
 * What covers a status when maintenance begins: nothing checked, so latency 0 and no reason, and the monitor's first
 * region (design §3 "Webhooks").
 * @param named the monitor's own list, empty for the default region
 */
export function maintenanceEntry(named: readonly string[], regions: readonly RegionState[]): DecidingCheck {
  return { region: named[0] ?? regions[0]?.region ?? '', latencyMs: 0, errorReason: null };
}

/**
 * The status after maintenance, by what the regions say now (design §4 "Maintenance"): DOWN is announced, UP only after
 * DOWN. Where nobody has a say, or nothing shows that DOWN is over, the status of before comes back silently.
 * @param now epoch milliseconds
 */
export function leaveMaintenance(
  monitor: Omit<MonitorState, 'status'>,
  before: CoveredStatus,
  regions: readonly RegionState[],
  now: number,
): MaintenanceExit {
  const verdict = judgeStatus(monitor, before, regions, now);
  const to = verdict ?? before;
  return {
    to,
    announced: verdict === 'DOWN' || (verdict === 'UP' && before === 'DOWN'),
    check: decidingCheck(monitor, regions, to === 'DOWN' ? 'DOWN' : 'UP', now),
  };
}

/**
 * The covered status after a check during maintenance: the first completed one ends PENDING here too, and since that is
 * said to nobody it ends in UP; a failure is the end of maintenance's to announce.
 * @param timestamp the check's stamp, epoch milliseconds
 */
export function coveredAfterCheck(
  before: CoveredStatus | null,
  effect: CheckEffect,
  timestamp: number,
): CoveredStatus | null {
  const completed = effect.kind === 'recorded' && effect.region?.lastResultAt === timestamp;
  return before === 'PENDING' && completed ? 'UP' : before;
}
