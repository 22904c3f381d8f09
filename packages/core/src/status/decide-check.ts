import { gapBefore, type SlotGap } from '../schedule/slots.ts';
import { applyCheck, type CheckVerdict, MAX_PROOF_WAIT_MS, type RegionState } from './apply-check.ts';
import { needsRetry } from './evaluate-status.ts';
import { hiddenAfterCheck } from './maintenance.ts';
import { changeStatus, enterMaintenance, type MonitorDraft } from './monitor-draft.ts';
import { isAnnounced } from './webhook-events.ts';

/** Fields of a check result that decide what is recorded. */
export interface CheckResult extends CheckVerdict {
  readonly statusCode: number | null;
  readonly certificateExpiresAt: Date | null;
  /** Trace context of the check for the deliveries that may follow. Absent without tracing. */
  readonly traceparent?: string | undefined;
}

interface RegionChange {
  readonly state: RegionState;
  readonly certificateExpiresAt: Date | null;
  /** Epoch milliseconds. Null if another region was checked. */
  readonly checkedAt: number | null;
}

/** Changes that a recorded result causes, in addition to those of the monitor itself. */
export interface DecidedCheck {
  readonly kind: 'recorded';
  /** Timestamp of its event, epoch milliseconds. */
  readonly timestamp: number;
  /** True if the result does not count, because its region may have had no network. */
  readonly inconclusive: boolean;
  /** True if the monitor has a newer revision than the check. */
  readonly outdated: boolean;
  /** True if its region has failures below the threshold. */
  readonly needsRetry: boolean;
  /** Planned slots of its region without a result just before this one, or null. */
  readonly gap: SlotGap | null;
  /** Set if the result may have ended a silence, which lasted since `lastAt`. */
  readonly silence: {
    readonly monitorId: string;
    readonly lastAt: number | null;
    readonly at: number;
    readonly proofMs: number;
  } | null;
  /** True for the first failed check of a region, whose response is kept. */
  readonly isFirstFailure: boolean;
  readonly regions: readonly RegionChange[];
}

/**
 * `duplicate`: the slot is recorded, but its retry may be missing. `unproven`: the result can be recorded once the state of the region's
 * network is known.
 */
export type RefusedCheck =
  { readonly kind: 'duplicate'; readonly needsRetry: boolean } | { readonly kind: 'unproven' };

/** Applies the rules to a result, and changes the monitor accordingly. */
export function decideCheck(check: CheckResult, monitor: MonitorDraft): DecidedCheck | RefusedCheck {
  // Maintenance begins here at the latest, because the maintenance clock may be late and the monitor could alert.
  const entersMaintenance = monitor.enabled && monitor.covered && monitor.status !== 'MAINTENANCE';
  const state = entersMaintenance ? { ...monitor, status: 'MAINTENANCE' as const } : monitor;
  const effect = applyCheck(state, monitor.regions, check, monitor.clock.peek());
  if (effect.kind === 'duplicate') return duplicateOf(check, monitor);
  if (effect.kind === 'unproven') return effect;

  const { inconclusive, region, restarted } = effect;
  const timestamp = monitor.clock.next();
  const isConclusive = check.urlOverride === null && !inconclusive && monitor.enabled;
  monitor.isChanged = true;
  if (entersMaintenance) enterMaintenance(monitor);
  if (isConclusive) monitor.lastCheckedAt = timestamp;
  monitor.statusBeforeMaintenance = hiddenAfterCheck(monitor.statusBeforeMaintenance, effect, timestamp);
  if (effect.status !== null) {
    const { latencyMs, errorReason, errorDetail, traceparent } = check;
    const cause = { region: check.region, latencyMs, errorReason, errorDetail, traceparent };
    changeStatus(monitor, {
      to: effect.status,
      announced: isAnnounced(monitor.status, effect.status),
      ...cause,
    });
  }
  const regions: RegionChange[] = restarted.map((state) => {
    return { state, certificateExpiresAt: null, checkedAt: null };
  });
  if (region !== null) {
    // An outdated probe may have seen an older certificate or another target's.
    const certificateExpiresAt = region.lastResultAt === timestamp ? check.certificateExpiresAt : null;
    regions.push({ state: region, certificateExpiresAt, checkedAt: timestamp });
  }
  const isLatest = region?.lastResultAt === timestamp;
  return {
    kind: 'recorded',
    timestamp,
    inconclusive,
    outdated: check.revision < monitor.revision,
    needsRetry: isLatest && needsRetry(monitor, region),
    gap: findGap(check, monitor),
    silence: isConclusive ? silenceBefore(check, monitor, timestamp) : null,
    isFirstFailure: isLatest && region.consecutiveFailures === 1,
    regions,
  };
}

/** Refuses a result whose slot is already recorded. */
export function duplicateOf(check: CheckVerdict, monitor: MonitorDraft): RefusedCheck {
  const state = stateOf(check, monitor);
  return { kind: 'duplicate', needsRetry: state !== undefined && needsRetry(monitor, state) };
}

/** Returns null for nearly all results. Otherwise PostgreSQL decides whether there was a silence, because it knows the monitor's past schedules. */
function silenceBefore(check: CheckResult, monitor: MonitorDraft, at: number): DecidedCheck['silence'] {
  const { id: monitorId, checkedBefore: lastAt, changedSince, intervalSeconds, timeoutSeconds } = monitor;
  const isInTime =
    lastAt !== null && at >= lastAt && at - lastAt <= (intervalSeconds + timeoutSeconds) * 1_000;
  if (isInTime && !changedSince) return null;
  const waitsForProof = check.status === 'DOWN' && check.statusCode === null;
  return { monitorId, lastAt, at, proofMs: waitsForProof ? MAX_PROOF_WAIT_MS : 0 };
}

function findGap(check: CheckVerdict, monitor: MonitorDraft): SlotGap | null {
  const state = stateOf(check, monitor);
  if (state === undefined || check.slot === null) return null;
  const { id: monitorId, intervalSeconds, retryIntervalSeconds } = monitor;
  return gapBefore({ monitorId, intervalSeconds, retryIntervalSeconds }, state.recentSlots, check.slot);
}

function stateOf({ region }: CheckVerdict, { regions }: MonitorDraft): RegionState | undefined {
  return regions.find((state) => state.region === region);
}
