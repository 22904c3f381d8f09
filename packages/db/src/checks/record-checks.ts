import { gapBefore, type SlotGap } from '@tocsin/core/schedule/slots';
import { applyCheck } from '@tocsin/core/status/apply-check';
import { coveredAfterCheck } from '@tocsin/core/status/maintenance';
import { isAnnounced } from '@tocsin/core/status/webhook-events';
import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
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
    if (statementTimeoutMs !== undefined) {
      await tx.execute(sql`select set_config('statement_timeout', ${String(statementTimeoutMs)}, true)`);
    }
    const monitors = await lockMonitors(tx, [...new Set(checks.map((check) => check.monitorId))]);
    const skipped = checks.filter(({ monitorId }) => !monitors.has(monitorId));
    const existing = await findExisting(tx, skipped);
    const repeated = await findRepeated(tx, checks, monitors);
    const results = checks.map((check): RecordedCheck | DroppedCheck => {
      const monitor = monitors.get(check.monitorId);
      if (monitor === undefined) return { kind: existing.has(check.monitorId) ? 'busy' : 'gone' };
      if (monitor.touched) return { kind: 'busy' };
      return repeated.has(check) ? { kind: 'duplicate' } : decide(check, monitor);
    });
    const recorded = results.filter((result) => result.kind === 'recorded');
    const updates = recorded.flatMap(({ regions }) => regions);
    await insertEvents(tx, recorded, sealResponse);
    await updateRegions(tx, updates);
    await settleTriggers(tx, recorded);
    const changes = await writeStatuses(tx, monitors.values());
    return results.map((result): CheckOutcome => {
      if (result.kind !== 'recorded') return result;
      const { kind, check, timestamp, outdated, gap } = result;
      const change = changes.get(check.monitorId);
      return { kind, timestamp, outdated, gap, statusChangeId: change?.due === true ? change.id : null };
    });
  });
}

/** Applies the rules to a result and changes the monitor accordingly. */
function decide(check: CheckRecord, monitor: LockedMonitor): RecordedCheck | DroppedCheck {
  // Maintenance begins here at the latest: the maintenance clock may be late, and the monitor could alert.
  const entersMaintenance = monitor.covered && monitor.status !== 'MAINTENANCE';
  const state = entersMaintenance ? { ...monitor, status: 'MAINTENANCE' as const } : monitor;
  const effect = applyCheck(state, monitor.regions, check, monitor.clock.peek());
  if (effect.kind !== 'recorded') return effect;

  const timestamp = monitor.clock.next();
  monitor.touched = true;
  if (entersMaintenance) enterMaintenance(monitor);
  if (check.urlOverride === null && check.network !== 'isolated') monitor.lastCheckedAt = timestamp;
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
    regions.push({ monitorId, state: effect.region, certificateExpiresAt, checkedAt: timestamp, counted: check });
  }
  const outdated = check.revision < monitor.revision;
  const gap = findGap(check, monitor);
  const firstFailure = effect.region?.lastResultAt === timestamp && effect.region.consecutiveFailures === 1;
  return { kind: 'recorded', check, firstFailure, timestamp, outdated, gap, regions };
}

function findGap({ region, slot }: CheckRecord, monitor: LockedMonitor): SlotGap | null {
  const state = monitor.regions.find((one) => one.region === region);
  if (state === undefined || slot === null) return null;
  return gapBefore(monitor.id, monitor.intervalSeconds, state.recentSlots, slot);
}
