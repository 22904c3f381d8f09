import type { CheckStatus, ErrorReason, MonitorStatus } from '@tocsin/contracts/vocabulary';
import {
  hasFreshResult,
  isEligible,
  isFailing,
  evaluateStatus,
  type RegionVerdict,
  type StatusRules,
} from './evaluate-status.ts';

/** How many of a region's last slots are remembered, so that a result that is already recorded is dropped. */
const REMEMBERED_SLOTS = 8;

/** How long a result waits at most for proof that its region had a network. */
export const MAX_PROOF_WAIT_MS = 10_000;

/** The fields of a monitor that affect its status. */
export interface MonitorState extends StatusRules {
  readonly status: MonitorStatus;
  /** The revision at which url, method, headers, body, assertions or timeout last changed. */
  readonly probeRevision: number;
}

/** What is remembered of one region of a monitor. */
export interface RegionState extends RegionVerdict {
  readonly region: string;
  readonly recentSlots: readonly number[];
  /** Whether its last result was inconclusive because it was doubtful. The next doubtful one counts. */
  readonly doubtful: boolean;
  /** Of the last check, or the last failed one while the region recovers: it is the cause of DOWN. */
  readonly lastLatencyMs: number | null;
  readonly lastErrorReason: ErrorReason | null;
  readonly lastErrorDetail: string | null;
}

/** The part of a check's result that affects the status. `slot` is epoch milliseconds, null for a triggered check. */
export interface CheckVerdict {
  readonly region: string;
  readonly revision: number;
  readonly slot: number | null;
  readonly urlOverride: string | null;
  readonly status: CheckStatus;
  readonly latencyMs: number;
  readonly errorReason: ErrorReason | null;
  readonly errorDetail: string | null;
  /**
   * The network of the region during a check that failed below HTTP: `unproven`, nothing is known yet; `isolated`, no canary responded;
   * `doubtful`, canaries respond again, and so does the target; `unavailable`, the checker had no port, file descriptor or memory to use it.
   * Null: a canary responded during the check, the region has no canaries, or the check reached its target.
   */
  readonly network: 'unproven' | 'isolated' | 'doubtful' | 'unavailable' | null;
}

/**
 * The effect of one result. A `duplicate` is dropped. An `unproven` one counts towards the failure threshold of its region, and must not be
 * recorded before the network of the region is known. Otherwise: whether it is inconclusive, the new state of its region (null: unchanged), of other regions that
 * it changes, and the new status of the monitor (null: unchanged).
 */
export type CheckEffect =
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'unproven' }
  | {
      readonly kind: 'recorded';
      readonly inconclusive: boolean;
      readonly region: RegionState | null;
      readonly awaited: readonly RegionState[];
      readonly status: 'UP' | 'DOWN' | null;
    };

/**
 * Decides what a result changes. One from a region that no longer checks the monitor changes nothing; the caller records it only once.
 * @param timestamp of the result by the monitor's clock, epoch milliseconds
 */
export function applyCheck(
  monitor: MonitorState,
  regions: readonly RegionState[],
  check: CheckVerdict,
  timestamp: number,
): CheckEffect {
  const before = regions.find((region) => region.region === check.region);
  if (before && check.slot !== null && before.recentSlots.includes(check.slot)) return { kind: 'duplicate' };
  // A target that responds only to a second probe would never fail if each doubt were granted.
  const isDoubtful = check.network === 'doubtful' && before?.doubtful !== true;
  const inconclusive = check.network === 'isolated' || check.network === 'unavailable' || isDoubtful;
  if (before === undefined || check.urlOverride !== null) {
    return { kind: 'recorded', inconclusive, region: null, awaited: [], status: null };
  }

  const recentSlots =
    check.slot === null ? before.recentSlots : [...before.recentSlots, check.slot].slice(-REMEMBERED_SLOTS);
  if (check.revision < monitor.probeRevision) {
    return { kind: 'recorded', inconclusive, region: { ...before, recentSlots }, awaited: [], status: null };
  }
  if (inconclusive) {
    // A failure of the checker says nothing about earlier doubts either.
    const doubtful = check.network === 'unavailable' ? before.doubtful : isDoubtful;
    const region = { ...before, recentSlots, doubtful };
    return { kind: 'recorded', inconclusive, region, awaited: [], status: null };
  }

  const { consecutiveFailures, recoveryPasses } = streakAfter(monitor, before, check.status === 'UP');
  const { region, since } = before;
  const verdict = { consecutiveFailures, recoveryPasses, lastResultAt: before.lastResultAt, since };
  const isRecovering = check.status === 'UP' && isFailing(monitor, verdict);
  // Field by field: in Node 20, each object that is spread takes some microseconds.
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
  // A region that fails already had its proof.
  const failsAlready = isFailing(monitor, before) && hasFreshResult(monitor, before, timestamp);
  if (check.network === 'unproven' && !failsAlready) return { kind: 'unproven' };
  const awaited = awaitOthers(monitor, regions, before, timestamp);
  if (monitor.status === 'MAINTENANCE')
    return { kind: 'recorded', inconclusive, region: after, awaited, status: null };

  const changed = new Map([after, ...awaited].map((region) => [region.region, region]));
  const all = regions.map((region) => changed.get(region.region) ?? region);
  const status = evaluateStatus(monitor, monitor.status, all, timestamp, [after]);
  const changedTo = status === monitor.status ? null : status;
  return { kind: 'recorded', inconclusive, region: after, awaited, status: changedTo };
}

/** The streak of a region after one more result. A failure of a failing region restarts its recovery. */
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

/** After all regions were silent, the first result would decide alone, so stale regions count as just assigned and keep their streaks. */
function awaitOthers(
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
