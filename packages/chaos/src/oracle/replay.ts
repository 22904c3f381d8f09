import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { applyCheck, type MonitorState, type RegionState } from '@tocsin/core/status/apply-check';
import { judgeStatus } from '@tocsin/core/status/evaluate-status';
import { coveredAfterCheck, type CoveredStatus, leaveMaintenance } from '@tocsin/core/status/maintenance';
import { isAnnounced } from '@tocsin/core/status/webhook-events';
import type { MaintainedSpan } from './changes-of.ts';
import type { EventFacts, MonitorFacts } from './record.ts';

/** A status change that the rules derive from events. */
export interface ImpliedChange {
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  /** The stamp of the event, or the moment of the edit, that brought it about. */
  readonly at: number;
  /** Null where no check did. */
  readonly region: string | null;
  /** Whether webhook events tell of it. */
  readonly announced: boolean;
}

/** An event that shares its slot with an earlier one. */
export class RepeatedSlotError extends Error {
  override readonly name = 'RepeatedSlotError';
}

/**
 * What the events of a monitor make of its status, by the rules of `core` and nothing else. Of monitors whose probe was edited
 * nobody can tell from the table which results still counted.
 * @param events of this monitor, in the order of their stamps
 * @param maintained when it was in maintenance, earliest first; of these monitors none is edited
 * @throws RepeatedSlotError
 */
export function replay(
  monitor: MonitorFacts,
  events: readonly EventFacts[],
  maintained: readonly MaintainedSpan[] = [],
): ImpliedChange[] {
  const { plan, createdAt } = monitor;
  const changes: ImpliedChange[] = [];
  let state: MonitorState = {
    status: 'PENDING',
    probeRevision: 1,
    failureThreshold: plan.failureThreshold,
    intervalSeconds: plan.intervalSeconds,
    timeoutSeconds: plan.timeoutSeconds,
  };
  let regions = plan.regions.map((region) => unreported(region, createdAt));
  const thresholds = [...monitor.thresholds];

  const change = (to: 'UP' | 'DOWN' | null, at: number, region: string | null): void => {
    if (to === null || to === state.status) return;
    changes.push({ from: state.status, to, at, region, announced: isAnnounced(state.status, to) });
    state = { ...state, status: to };
  };
  let covered: CoveredStatus = 'PENDING';
  const boundaries = maintained.flatMap(({ enteredAt, leftAt }) => [
    { at: enteredAt, enters: true },
    ...(leftAt === null ? [] : [{ at: leftAt, enters: false }]),
  ]);
  const maintainUntil = (time: number): void => {
    for (let next = boundaries[0]; next !== undefined && next.at <= time; next = boundaries[0]) {
      boundaries.shift();
      const { at, enters } = next;
      const from = state.status;
      if (enters && from !== 'MAINTENANCE') {
        covered = from;
        changes.push({ from, to: 'MAINTENANCE', at, region: null, announced: true });
        state = { ...state, status: 'MAINTENANCE' };
      } else if (!enters) {
        const { to, announced } = leaveMaintenance(state, covered, regions, at);
        changes.push({ from, to, at, region: null, announced });
        state = { ...state, status: to };
      }
    }
  };
  const editUntil = (time: number): void => {
    for (let edit = thresholds[0]; edit !== undefined && edit.at <= time; edit = thresholds[0]) {
      thresholds.shift();
      state = { ...state, failureThreshold: edit.value };
      if (state.status !== 'PENDING') {
        change(judgeStatus(state, state.status, regions, edit.at), edit.at, null);
      }
    }
  };

  for (const event of events) {
    editUntil(event.timestamp);
    maintainUntil(event.timestamp);
    const effect = applyCheck(state, regions, verdictOf(event), event.timestamp);
    if (effect.kind === 'duplicate') throw new RepeatedSlotError(`event ${event.id} repeats a slot`);
    const changed = new Map(
      [...(effect.region ? [effect.region] : []), ...effect.awaited].map((one) => [one.region, one]),
    );
    regions = regions.map((one) => changed.get(one.region) ?? one);
    covered = coveredAfterCheck(covered, effect, event.timestamp) ?? covered;
    change(effect.status, event.timestamp, event.region);
  }
  editUntil(Infinity);
  maintainUntil(Infinity);
  return changes;
}

/** Whether an edit and an event are so close that nobody can tell from their stamps which was first. */
export function isAmbiguous(monitor: MonitorFacts, events: readonly EventFacts[]): boolean {
  return monitor.thresholds.some((edit) =>
    events.some(({ timestamp }) => Math.abs(timestamp - edit.at) <= 10),
  );
}

function verdictOf(event: EventFacts): Parameters<typeof applyCheck>[2] {
  return {
    region: event.region,
    revision: 1,
    slot: event.slot,
    urlOverride: event.url,
    status: event.status,
    latencyMs: event.latencyMs,
    errorReason: event.errorReason,
  };
}

function unreported(region: string, since: number): RegionState {
  return {
    region,
    since,
    consecutiveFailures: 0,
    lastResultAt: null,
    recentSlots: [],
    lastLatencyMs: null,
    lastErrorReason: null,
  };
}
