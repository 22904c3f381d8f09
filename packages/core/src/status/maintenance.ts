import type { ErrorReason, MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { CheckEffect, MonitorState, RegionState } from './apply-check.ts';
import {
  evaluateStatus,
  isEligible,
  isFailing,
  type RegionVerdict,
  type StatusRules,
} from './evaluate-status.ts';

/** A status that maintenance can cover. */
export type CoveredStatus = Exclude<MonitorStatus, 'MAINTENANCE'>;

/** The check that a webhook names as the cause of a status. */
export interface DecidingCheck {
  readonly region: string;
  readonly latencyMs: number;
  readonly errorReason: ErrorReason | null;
  /** `errorReason` in words. */
  readonly errorDetail: string | null;
}

/**
 * The cause of a status that no check has just caused: the last check of a region with that status. Eligible regions come first, then for
 * UP those whose last check passed. Without such a region: the first region, with a latency of 0.
 * @param now epoch milliseconds
 */
export function decidingCheck(
  rules: StatusRules,
  regions: readonly RegionState[],
  status: 'UP' | 'DOWN',
  now: number,
): DecidingCheck {
  const rank = (region: RegionState): number =>
    (isEligible(rules, region, now) ? 2 : 0) + (status === 'UP' && region.consecutiveFailures === 0 ? 1 : 0);
  const [best] = regions
    .filter((region) => region.lastResultAt !== null)
    .filter((region) => isFailing(rules, region) === (status === 'DOWN'))
    .toSorted((one, other) => rank(other) - rank(one) || (other.lastResultAt ?? 0) - (one.lastResultAt ?? 0));
  return {
    region: best?.region ?? regions[0]?.region ?? '',
    latencyMs: best?.lastLatencyMs ?? 0,
    errorReason: best?.lastErrorReason ?? null,
    errorDetail: best?.lastErrorDetail ?? null,
  };
}

/** The status of a monitor after maintenance. */
export interface MaintenanceExit {
  readonly to: CoveredStatus;
  /** Whether the change is announced; otherwise the status changes silently. */
  readonly announced: boolean;
  readonly check: DecidingCheck;
}

/**
 * The cause that the announcement of maintenance names: no check, so the first region, latency 0 and no reason.
 * @param named the monitor's own list of regions, empty for the default region
 */
export function maintenanceEntry(named: readonly string[], regions: readonly RegionState[]): DecidingCheck {
  return { region: named[0] ?? regions[0]?.region ?? '', latencyMs: 0, errorReason: null, errorDetail: null };
}

/**
 * The status the monitor would have if maintenance ended now. Without a verdict, the status before maintenance.
 * @param now epoch milliseconds
 */
export function coveredStatus(
  rules: StatusRules,
  before: CoveredStatus,
  regions: readonly RegionVerdict[],
  now: number,
): CoveredStatus {
  return evaluateStatus(rules, before, regions, now) ?? before;
}

/**
 * The status after maintenance: DOWN is announced, UP only after DOWN. Without a verdict the covered status returns silently.
 * @param now epoch milliseconds
 */
export function leaveMaintenance(
  monitor: Omit<MonitorState, 'status'>,
  before: CoveredStatus,
  regions: readonly RegionState[],
  now: number,
): MaintenanceExit {
  const evaluated = evaluateStatus(monitor, before, regions, now);
  const to = evaluated ?? before;
  return {
    to,
    announced: evaluated === 'DOWN' || (evaluated === 'UP' && before === 'DOWN'),
    check: decidingCheck(monitor, regions, to === 'DOWN' ? 'DOWN' : 'UP', now),
  };
}

/**
 * The covered status after a check during maintenance. The first completed check always turns PENDING into UP; a failure is announced at
 * the end.
 * @param timestamp of the check by the monitor's clock, epoch milliseconds
 */
export function coveredAfterCheck(
  before: CoveredStatus | null,
  effect: CheckEffect,
  timestamp: number,
): CoveredStatus | null {
  const completed = effect.kind === 'recorded' && effect.region?.lastResultAt === timestamp;
  return before === 'PENDING' && completed ? 'UP' : before;
}
