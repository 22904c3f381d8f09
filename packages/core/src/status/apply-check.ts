import type { CheckStatus, ErrorReason, MonitorStatus } from '@tocsin/contracts/vocabulary';
import { MAX_CLOCK_OFFSET_MS } from '../schedule/slots.ts';
import {
  hasFreshResult,
  isEligible,
  isFailing,
  evaluateStatus,
  type RegionVerdict,
  type StatusRules,
} from './evaluate-status.ts';

const REMEMBERED_SLOTS = 8;

/** A result waits at most this long for proof that its region had a network. */
export const MAX_PROOF_WAIT_MS = 10_000;

export interface MonitorState extends StatusRules {
  readonly status: MonitorStatus;
  /** The revision that last changed what a probe does or requires. */
  readonly probeRevision: number;
  /** False while the monitor is paused. Results are then recorded, but change neither its status nor its regions. */
  readonly enabled: boolean;
}

/** Last results of one region of a monitor. */
export interface RegionState extends RegionVerdict {
  readonly region: string;
  readonly recentSlots: readonly number[];
  /** True if the last result was inconclusive because it was doubtful. The next doubtful one counts. */
  readonly doubtful: boolean;
  /** From the last check. While the region recovers, from the last failed check, which is the cause of DOWN. */
  readonly lastLatencyMs: number | null;
  readonly lastErrorReason: ErrorReason | null;
  readonly lastErrorDetail: string | null;
}

/** What a check result says about the status. `slot` is in epoch milliseconds, or null for a triggered check. */
export interface CheckVerdict {
  readonly region: string;
  readonly revision: number;
  readonly slot: number | null;
  /** True if the result arrived after its agent had been disconnected. */
  readonly isLate?: boolean | undefined;
  readonly urlOverride: string | null;
  readonly status: CheckStatus;
  readonly latencyMs: number;
  readonly errorReason: ErrorReason | null;
  readonly errorDetail: string | null;
  /**
   * What is known about the region's network during a check that failed below HTTP. `unproven` means unknown so far, and `isolated` that no
   * canary responded. `doubtful` means that canaries respond again, and so does the target. `unavailable` means that the checker ran out of
   * ports, files or memory. Null if none of these applies.
   */
  readonly network: 'unproven' | 'isolated' | 'doubtful' | 'unavailable' | null;
}

/**
 * Effect of one result. `unproven` means that the failure would count, so the network of its region must be proven first. `region` and
 * `status` are null if unchanged. `restarted` has other regions that count as just assigned.
 */
export type CheckEffect =
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'unproven' }
  | {
      readonly kind: 'recorded';
      readonly inconclusive: boolean;
      readonly region: RegionState | null;
      readonly restarted: readonly RegionState[];
      readonly status: 'UP' | 'DOWN' | null;
    };

/** Decides what a result changes, if its region is still assigned. @param timestamp by the monitor's clock, epoch milliseconds */
export function applyCheck(
  monitor: MonitorState,
  regions: readonly RegionState[],
  check: CheckVerdict,
  timestamp: number,
): CheckEffect {
  const before = regions.find((region) => region.region === check.region);
  if (before && check.slot !== null && before.recentSlots.includes(check.slot)) return { kind: 'duplicate' };
  // Only the first doubtful result is inconclusive. Otherwise a target that responds only to second probes would never fail.
  const isDoubtful = check.network === 'doubtful' && before?.doubtful !== true;
  const inconclusive = check.network === 'isolated' || check.network === 'unavailable' || isDoubtful;
  if (before === undefined || check.urlOverride !== null) {
    return { kind: 'recorded', inconclusive, region: null, restarted: [], status: null };
  }

  const recentSlots =
    check.slot === null ? before.recentSlots : [...before.recentSlots, check.slot].slice(-REMEMBERED_SLOTS);
  if (!monitor.enabled || check.revision < monitor.probeRevision || isOutdated(before, check, timestamp)) {
    return {
      kind: 'recorded',
      inconclusive,
      region: { ...before, recentSlots },
      restarted: [],
      status: null,
    };
  }
  if (inconclusive) {
    // A failure of the checker says nothing about an earlier doubtful result.
    const doubtful = check.network === 'unavailable' ? before.doubtful : isDoubtful;
    const region = { ...before, recentSlots, doubtful };
    return { kind: 'recorded', inconclusive, region, restarted: [], status: null };
  }

  const { consecutiveFailures, recoveryPasses } = streakAfter(monitor, before, check.status === 'UP');
  const { region, since } = before;
  const verdict = { consecutiveFailures, recoveryPasses, lastResultAt: before.lastResultAt, since };
  const isRecovering = check.status === 'UP' && isFailing(monitor, verdict);
  // Field by field, because spreading an object takes microseconds in Node 20.
  const after: RegionState = {
    region,
    consecutiveFailures,
    recoveryPasses,
    since,
    lastLatencyMs: isRecovering ? before.lastLatencyMs : check.latencyMs,
    lastErrorReason: isRecovering ? before.lastErrorReason : check.errorReason,
    lastErrorDetail: isRecovering ? before.lastErrorDetail : check.errorDetail,
    recentSlots,
    doubtful: false,
    lastResultAt: timestamp,
  };
  // If a region already fails, its network was proven before.
  const failsAlready = isFailing(monitor, before) && hasFreshResult(monitor, before, timestamp);
  if (check.network === 'unproven' && !failsAlready) return { kind: 'unproven' };
  const restarted = restartOthers(monitor, regions, before, timestamp);
  if (monitor.status === 'MAINTENANCE')
    return { kind: 'recorded', inconclusive, region: after, restarted, status: null };

  const changed = new Map([after, ...restarted].map((region) => [region.region, region]));
  const all = regions.map((region) => changed.get(region.region) ?? region);
  const status = evaluateStatus(monitor, monitor.status, all, timestamp, [after]);
  const changedTo = status === monitor.status ? null : status;
  return { kind: 'recorded', inconclusive, region: after, restarted, status: changedTo };
}

/** Reports whether the region may have newer results. Ignores slots from a clock that was fast, because they would outdate all results. */
function isOutdated({ recentSlots }: RegionState, { slot, isLate }: CheckVerdict, now: number): boolean {
  if (slot === null) return isLate === true;
  return recentSlots.some((recent) => recent > slot && recent <= now + MAX_CLOCK_OFFSET_MS);
}

/** Returns the streak of a region after one more result. A failure of a failing region restarts its recovery. */
function streakAfter(
  rules: StatusRules,
  before: RegionVerdict,
  passed: boolean,
): Pick<RegionVerdict, 'consecutiveFailures' | 'recoveryPasses'> {
  if (!passed) {
    const recovering = before.recoveryPasses !== null && isFailing(rules, before);
    const recoveryPasses = recovering ? 0 : null;
    return { consecutiveFailures: before.consecutiveFailures + 1, recoveryPasses };
  }
  const passes = isFailing(rules, before) ? (before.recoveryPasses ?? 0) + 1 : rules.recoveryThreshold;
  return { consecutiveFailures: 0, recoveryPasses: passes < rules.recoveryThreshold ? passes : null };
}

/** After a silence of all regions, the first result would decide alone. Stale regions therefore count as just assigned, and keep their streaks. */
function restartOthers(
  monitor: MonitorState,
  regions: readonly RegionState[],
  reporting: RegionState,
  now: number,
): RegionState[] {
  if (regions.some((region) => hasFreshResult(monitor, region, now))) return [];
  return regions
    .filter((region) => region !== reporting && !isEligible(monitor, region, now))
    .map((region) => asAssigned(region, now));
}

function asAssigned(region: RegionState, now: number): RegionState {
  return { ...region, lastResultAt: null, since: now };
}
