import type { Timings } from '@tocsin/contracts/monitors/events';
import type { CheckSource } from '@tocsin/contracts/vocabulary';
import { gapBefore, type SlotGap } from '@tocsin/core/schedule/slots';
import { applyCheck, type RegionState } from '@tocsin/core/status/apply-check';
import type { CheckVerdict } from '@tocsin/core/status/apply-check';
import { coveredAfterCheck } from '@tocsin/core/status/maintenance';
import { isAnnounced, MonitorClock } from '@tocsin/core/status/webhook-events';
import { sql } from 'drizzle-orm';
import type { Database, Transaction } from '../database/open.ts';
import { enterMaintenance } from '../status-changes/maintenance-changes.ts';
import { recordStatusChanges, type StatusChange } from '../status-changes/record-status-changes.ts';
import { type LockedMonitor, lockMonitors, whichExist } from './lock-monitors.ts';
import {
  insertEvents,
  type RegionUpdate,
  repeatedChecks,
  settledTriggers,
  settleTriggers,
  updateMonitors,
  updateRegions,
} from './write-checks.ts';

/** The complete result of one check, ready to be recorded. */
export interface CheckRecord extends CheckVerdict {
  readonly monitorId: string;
  readonly source: CheckSource;
  /** The trigger that asked for this check; null for a scheduled one. */
  readonly triggerId: string | null;
  readonly statusCode: number | null;
  readonly errorDetail: string | null;
  readonly timings: Timings;
  /** Null where the check saw no certificate. */
  readonly certificateExpiresAt: Date | null;
  /** Of the check's trace, for the deliveries that may follow; absent where there is no tracing. */
  readonly traceparent?: string;
}

/**
 * What became of a result: `recorded` as an event; `duplicate` of a recorded slot or `gone` with its monitor, both dropped;
 * `busy`: the monitor is held by
 * another process or by an earlier result of the batch, so it is to be tried again.
 */
export type CheckOutcome =
  | {
      readonly kind: 'recorded';
      /** The event's stamp, epoch milliseconds. */
      readonly timestamp: number;
      /** A status change whose deliveries are due, or null. */
      readonly statusChangeId: string | null;
      /** Whether the check ran with an older revision than the monitor now has. */
      readonly outdated: boolean;
      /** Planned slots of its region just before this result's that nothing was recorded of; null: none that is known. */
      readonly gap: SlotGap | null;
    }
  | { readonly kind: 'duplicate' | 'gone' | 'busy' };

/** One result with what it does; `statusChange` is an index into the batch's status changes. */
interface Decision {
  readonly check: CheckRecord;
  readonly timestamp: number;
  readonly outdated: boolean;
  readonly gap: SlotGap | null;
  readonly statusChange: number | null;
}

/** Everything a batch writes, decided before the first write. */
interface Plan {
  readonly outcomes: (CheckOutcome | null)[];
  readonly decisions: (Decision | null)[];
  readonly regions: RegionUpdate[];
  readonly statusChanges: StatusChange[];
}

export interface RecordOptions {
  /** How long each statement may take, in milliseconds. Default: the limit of the session. */
  readonly statementTimeoutMs?: number;
}

/**
 * Records a batch of results in one transaction: events, region states, statuses, incidents and outbox together (design §5).
 * Monitors that another process holds are skipped, not waited for;
 * of two results of one monitor the first is recorded.
 * @returns one outcome per result, in the same order
 */
export async function recordChecks(
  db: Database,
  checks: readonly CheckRecord[],
  { statementTimeoutMs }: RecordOptions = {},
): Promise<CheckOutcome[]> {
  return db.transaction(async (tx) => {
    if (statementTimeoutMs !== undefined) {
      await tx.execute(sql`select set_config('statement_timeout', ${String(statementTimeoutMs)}, true)`);
    }
    const monitors = await lockMonitors(tx, [...new Set(checks.map((check) => check.monitorId))]);
    const settled = await settledTriggers(tx, checks);
    const repeated = await repeatedChecks(tx, checks, monitors);
    const plan = decide(checks, monitors, settled, repeated);
    const recorded = plan.decisions.filter((decision) => decision !== null);
    if (recorded.length > 0) await insertEvents(tx, recorded);
    if (plan.regions.length > 0) await updateRegions(tx, plan.regions);
    await settleTriggers(tx, recorded);
    const changes = await recordStatusChanges(tx, plan.statusChanges);
    plan.statusChanges.forEach((change, index) => {
      const monitor = monitors.get(change.monitor.id);
      if (monitor) monitor.statusSince = changes[index]?.timestamp ?? monitor.statusSince;
    });
    const touched = [...monitors.values()].filter((monitor) => monitor.touched);
    if (touched.length > 0) await updateMonitors(tx, touched);
    return settle(tx, checks, plan, changes);
  });
}

/** Applies the rules to each result. A second result of a monitor waits for the next batch: it is judged by what this one writes. */
function decide(
  checks: readonly CheckRecord[],
  monitors: ReadonlyMap<string, LockedMonitor>,
  settled: ReadonlySet<string>,
  repeated: ReadonlySet<CheckRecord>,
): Plan {
  const plan: Plan = { outcomes: [], decisions: [], regions: [], statusChanges: [] };
  for (const check of checks) {
    const monitor = monitors.get(check.monitorId);
    const busy = monitor?.touched === true;
    const known = repeated.has(check) || (check.triggerId !== null && settled.has(check.triggerId));
    const decision = monitor === undefined || busy || known ? null : decideOne(check, monitor, plan);
    plan.decisions.push(decision);
    if (busy) plan.outcomes.push({ kind: 'busy' });
    else plan.outcomes.push(monitor !== undefined && decision === null ? { kind: 'duplicate' } : null);
  }
  return plan;
}

function decideOne(check: CheckRecord, monitor: LockedMonitor, plan: Plan): Decision | null {
  const regions = [...monitor.regions.values()];
  const clock = monitor.clock;
  const stamp = new MonitorClock(clock.last, clock.now).next();
  // Maintenance is decided here, where alerts are: whoever announces its beginning may be late.
  const entersMaintenance = monitor.covered && monitor.status !== 'MAINTENANCE';
  const state = entersMaintenance ? { ...monitor, status: 'MAINTENANCE' as const } : monitor;
  const effect = applyCheck(state, regions, check, stamp);
  if (effect.kind === 'duplicate') return null;

  const timestamp = clock.next();
  const outdated = check.revision < monitor.revision;
  const gap = gapOf(check, monitor);
  monitor.touched = true;
  if (entersMaintenance) plan.statusChanges.push(enterMaintenance(monitor));
  if (check.urlOverride === null) monitor.lastCheckedAt = timestamp;
  monitor.statusBeforeMaintenance = coveredAfterCheck(monitor.statusBeforeMaintenance, effect, timestamp);
  // What was probed before a change of the URL had a certificate of its own.
  const certificate = check.revision < monitor.probeRevision ? null : check.certificateExpiresAt;
  if (effect.region) rememberRegion(monitor, effect.region, certificate, plan);
  for (const state of effect.awaited) rememberRegion(monitor, state, null, plan);
  if (effect.status === null) {
    const statusChange = entersMaintenance ? plan.statusChanges.length - 1 : null;
    return { check, timestamp, outdated, gap, statusChange };
  }
  plan.statusChanges.push({
    monitor,
    from: monitor.status,
    to: effect.status,
    announced: isAnnounced(monitor.status, effect.status),
    region: check.region,
    latencyMs: check.latencyMs,
    errorReason: check.errorReason,
    traceparent: check.traceparent,
    clock,
  });
  monitor.status = effect.status;
  return { check, timestamp, outdated, gap, statusChange: plan.statusChanges.length - 1 };
}

/** To be asked before the region's new state is remembered. */
function gapOf({ region, slot }: CheckRecord, monitor: LockedMonitor): SlotGap | null {
  const state = monitor.regions.get(region);
  if (state === undefined || slot === null) return null;
  return gapBefore(monitor.id, monitor.intervalSeconds, state.recentSlots, slot);
}

function rememberRegion(
  monitor: LockedMonitor,
  state: RegionState,
  certificateExpiresAt: Date | null,
  plan: Plan,
): void {
  monitor.regions.set(state.region, state);
  plan.regions.push({ monitorId: monitor.id, state, certificateExpiresAt });
}

async function settle(
  tx: Transaction,
  checks: readonly CheckRecord[],
  plan: Plan,
  changes: readonly { id: string; due: boolean }[],
): Promise<CheckOutcome[]> {
  const unlocked = checks.filter(
    (_, index) => plan.outcomes[index] === null && plan.decisions[index] === null,
  );
  const existing = await whichExist(tx, [...new Set(unlocked.map((check) => check.monitorId))]);
  return checks.map((check, index) => {
    const decision = plan.decisions[index];
    if (!decision) return plan.outcomes[index] ?? { kind: existing.has(check.monitorId) ? 'busy' : 'gone' };
    const change = decision.statusChange === null ? undefined : changes[decision.statusChange];
    return {
      kind: 'recorded',
      timestamp: decision.timestamp,
      statusChangeId: change?.due === true ? change.id : null,
      outdated: decision.outdated,
      gap: decision.gap,
    };
  });
}
