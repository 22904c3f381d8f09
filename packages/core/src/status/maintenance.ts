import type { ErrorReason, MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { CheckEffect, MonitorState, RegionState } from './apply-check.ts';
import {
  evaluateStatus,
  isEligible,
  isFailing,
  type RegionVerdict,
  type StatusRules,
} from './evaluate-status.ts';

export type HiddenStatus = Exclude<MonitorStatus, 'MAINTENANCE'>;

export interface DecidingCheck {
  readonly region: string;
  readonly latencyMs: number;
  readonly errorReason: ErrorReason | null;
  readonly errorDetail: string | null;
}

/** Returns the last check that explains a status, from an eligible region if possible. Without one, returns the first region and latency 0. */
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

export interface MaintenanceExit {
  readonly to: HiddenStatus;
  /** False if the status changes silently. */
  readonly announced: boolean;
  readonly check: DecidingCheck;
}

/** Returns a cause without a check: the first region, latency 0 and no reason. @param named empty for the default region */
export function maintenanceEntry(named: readonly string[], regions: readonly RegionState[]): DecidingCheck {
  return { region: named[0] ?? regions[0]?.region ?? '', latencyMs: 0, errorReason: null, errorDetail: null };
}

/** Returns the status that the monitor would have if maintenance ended now, or `before` without a result. @param now epoch milliseconds */
export function hiddenStatus(
  rules: StatusRules,
  before: HiddenStatus,
  regions: readonly RegionVerdict[],
  now: number,
): HiddenStatus {
  return evaluateStatus(rules, before, regions, now) ?? before;
}

/** Returns the status after maintenance. DOWN is announced, and UP only after DOWN. Without a result, the hidden status returns silently. */
export function maintenanceExit(
  monitor: Omit<MonitorState, 'status'>,
  before: HiddenStatus,
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

/** The first completed check in maintenance turns a hidden PENDING into UP, because a failure is announced only at the end. */
export function hiddenAfterCheck(
  before: HiddenStatus | null,
  effect: CheckEffect,
  timestamp: number,
): HiddenStatus | null {
  const completed = effect.kind === 'recorded' && effect.region?.lastResultAt === timestamp;
  return before === 'PENDING' && completed ? 'UP' : before;
}
