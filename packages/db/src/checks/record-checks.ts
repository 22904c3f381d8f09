import { gapBefore, type SlotGap } from '@tocsin/core/schedule/slots';
import { applyCheck, MAX_PROOF_WAIT_MS, type RegionState } from '@tocsin/core/status/apply-check';
import { isUnconfirmed } from '@tocsin/core/status/evaluate-status';
import { coveredAfterCheck } from '@tocsin/core/status/maintenance';
import { isAnnounced } from '@tocsin/core/status/webhook-events';
import { sql } from 'drizzle-orm';
import type { Database, Transaction } from '../database/open.ts';
import { together } from '../database/sql.ts';
import { recordSilences } from '../silences/silences.ts';
import {
  changeStatus,
  enterMaintenance,
  type LockedMonitor,
  lockMonitors,
} from '../status-changes/locked-monitor.ts';
import { writeStatuses } from '../status-changes/write-statuses.ts';
import type {
  CheckOutcome,
  CheckRecord,
  DroppedCheck,
  RecordedCheck,
  RegionUpdate,
  SealResponse,
} from './check-record.ts';
import { findExisting, findRepeated, insertEvents, settleTriggers, updateRegions } from './write-checks.ts';

export interface RecordOptions {
  /** Time limit of each statement, in milliseconds. Default: the limit of the session. */
  readonly statementTimeoutMs?: number;
  /** Default: no response is kept. */
  readonly sealResponse?: SealResponse;
}

/**
 * Records a batch of results in one transaction: events, region states, statuses, incidents and outbox together. It skips monitors that
 * another session has locked, and all results of a monitor but the first: the second depends on what this batch writes.
 * @returns one outcome per result, in the same order
 */
export async function recordChecks(
  db: Database,
  checks: readonly CheckRecord[],
  { statementTimeoutMs, sealResponse = () => null }: RecordOptions = {},
): Promise<CheckOutcome[]> {
  return db.transaction(async (tx) => {
    const ids = [...new Set(checks.map((check) => check.monitorId))];
    const [, monitors] = await together(limitStatements(tx, statementTimeoutMs), lockMonitors(tx, ids));
    const skipped = checks.filter(({ monitorId }) => !monitors.has(monitorId));
    const [existing, repeated] = await together(
      findExisting(tx, skipped),
      findRepeated(tx, checks, monitors),
    );
    const results = checks.map((check): RecordedCheck | DroppedCheck => {
      const monitor = monitors.get(check.monitorId);
      if (monitor === undefined) return { kind: existing.has(check.monitorId) ? 'busy' : 'gone' };
      if (monitor.touched) return { kind: 'busy' };
      return repeated.has(check) ? duplicateOf(check, monitor) : decide(check, monitor);
    });
    const recorded = results.filter((result) => result.kind === 'recorded');
    const updates = recorded.flatMap(({ regions }) => regions);
    const [, , , , changes] = await together(
      insertEvents(tx, recorded, sealResponse),
      updateRegions(tx, updates),
      settleTriggers(tx, recorded),
      recordSilences(
        tx,
        recorded.flatMap(({ silence }) => silence ?? []),
      ),
      writeStatuses(tx, monitors.values()),
    );
    return results.map((result): CheckOutcome => {
      if (result.kind !== 'recorded') return result;
      const { kind, check, timestamp, inconclusive, outdated, unconfirmed, gap } = result;
      const change = changes.get(check.monitorId);
      const statusChangeId = change?.due === true ? change.id : null;
      return { kind, timestamp, inconclusive, outdated, unconfirmed, gap, statusChangeId };
    });
  });
}

async function limitStatements(tx: Transaction, timeoutMs: number | undefined): Promise<void> {
  if (timeoutMs === undefined) return;
  await tx.execute(sql`select set_config('statement_timeout', ${String(timeoutMs)}, true)`).execute();
}

/** Applies the rules to a result and changes the monitor accordingly. */
function decide(check: CheckRecord, monitor: LockedMonitor): RecordedCheck | DroppedCheck {
  // Maintenance begins here at the latest: the maintenance clock may be late, and the monitor could alert.
  const entersMaintenance = monitor.covered && monitor.status !== 'MAINTENANCE';
  const state = entersMaintenance ? { ...monitor, status: 'MAINTENANCE' as const } : monitor;
  const effect = applyCheck(state, monitor.regions, check, monitor.clock.peek());
  if (effect.kind === 'duplicate') return duplicateOf(check, monitor);
  if (effect.kind !== 'recorded') return effect;

  const { inconclusive } = effect;
  const timestamp = monitor.clock.next();
  monitor.touched = true;
  if (entersMaintenance) enterMaintenance(monitor);
  const isMeasured = check.urlOverride === null && !inconclusive;
  if (isMeasured) monitor.lastCheckedAt = timestamp;
  monitor.statusBeforeMaintenance = coveredAfterCheck(monitor.statusBeforeMaintenance, effect, timestamp);
  if (effect.status !== null) {
    const { region, latencyMs, errorReason, errorDetail, traceparent } = check;
    const announced = isAnnounced(monitor.status, effect.status);
    const cause = { region, latencyMs, errorReason, errorDetail, traceparent };
    changeStatus(monitor, { to: effect.status, announced, ...cause });
  }
  const monitorId = monitor.id;
  const regions: RegionUpdate[] = effect.awaited.map((state) => {
    return { monitorId, state, certificateExpiresAt: null, checkedAt: null, counted: null };
  });
  if (effect.region) {
    // A probe from before a change of the URL saw the certificate of another target.
    const certificateExpiresAt = check.revision < monitor.probeRevision ? null : check.certificateExpiresAt;
    regions.push({
      monitorId,
      state: effect.region,
      certificateExpiresAt,
      checkedAt: timestamp,
      counted: { check, inconclusive },
    });
  }
  const outdated = check.revision < monitor.revision;
  const gap = findGap(check, monitor);
  const isLatest = effect.region?.lastResultAt === timestamp;
  const unconfirmed = isLatest && isUnconfirmed(monitor, effect.region);
  const silence =
    isMeasured && mayEndSilence(monitor, timestamp)
      ? { monitorId, lastAt: monitor.checkedBefore, at: timestamp, proofMs: proofMs(check) }
      : null;
  const firstFailure = isLatest && effect.region.consecutiveFailures === 1;
  const facts = { check, timestamp, inconclusive, silence, firstFailure, outdated, unconfirmed, gap };
  return { kind: 'recorded', ...facts, regions };
}

/** Avoids a statement for nearly all results. Postgres decides, because it knows which schedules the monitor had since its last result. */
function mayEndSilence(monitor: LockedMonitor, timestamp: number): boolean {
  const { checkedBefore, changedSince, intervalSeconds, timeoutSeconds } = monitor;
  if (checkedBefore === null || changedSince || timestamp < checkedBefore) return true;
  return timestamp - checkedBefore > (intervalSeconds + timeoutSeconds) * 1_000;
}

function proofMs({ status, statusCode }: CheckRecord): number {
  return status === 'DOWN' && statusCode === null ? MAX_PROOF_WAIT_MS : 0;
}

function duplicateOf(check: CheckRecord, monitor: LockedMonitor): DroppedCheck {
  const state = stateOf(check, monitor);
  return { kind: 'duplicate', unconfirmed: state !== undefined && isUnconfirmed(monitor, state) };
}

function findGap(check: CheckRecord, monitor: LockedMonitor): SlotGap | null {
  const state = stateOf(check, monitor);
  if (state === undefined || check.slot === null) return null;
  const { id: monitorId, intervalSeconds, retryIntervalSeconds } = monitor;
  const plan = { monitorId, intervalSeconds, retryIntervalSeconds };
  return gapBefore(plan, state.recentSlots, check.slot);
}

function stateOf({ region }: CheckRecord, { regions }: LockedMonitor): RegionState | undefined {
  return regions.find((state) => state.region === region);
}
