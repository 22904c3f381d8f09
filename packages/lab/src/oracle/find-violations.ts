import { ASSIGNMENT_CHECKS } from './assignments.ts';
import { EVENT_CHECKS, FAULT_EVENT_CHECKS } from './checks.ts';
import { DELIVERY_CHECKS, FAULT_DELIVERY_CHECKS } from './deliveries.ts';
import { iso } from './history.ts';
import { MAINTENANCE_CHECKS } from './maintenance.ts';
import { wrongNeighbor } from './neighbor.ts';
import { ALERT_CHECKS } from './networks/alerts.ts';
import { ISOLATION_CHECKS } from './networks/isolations.ts';
import { ROLLOUT_CHECKS } from './rollout.ts';
import type { Check, Evidence, FaultRecord, RunRecord, StoresRecord, Violation } from './record.ts';
import { SCRAPE_CHECKS } from './scrapes.ts';
import { STATUS_CHECKS, wrongFinalStatuses } from './statuses.ts';
import { STEADY_CHECKS } from './steady.ts';
import { ignoredResponses } from './stretches.ts';

const RESUME_WITHIN_MS = 10_000;

/** What must hold in every run. */
const EVIDENCE_CHECKS: readonly Check<Evidence>[] = [...EVENT_CHECKS, ...STATUS_CHECKS, ...DELIVERY_CHECKS];

const FAULT_CHECKS: readonly Check<FaultRecord>[] = [
  ['every kind of fault is fired', unfiredFaults],
  ['the campaign has alerts to lose', idleCampaign],
  ['services recover by themselves', ({ serviceProblems }) => [...serviceProblems]],
  ['the API responds with no 5xx but 503 and 504', internalErrors],
  ...FAULT_EVENT_CHECKS,
  ...MAINTENANCE_CHECKS,
  ...ASSIGNMENT_CHECKS,
  ...SCRAPE_CHECKS,
  ['each monitor shows the state of its target', wrongFinalStatuses],
  ...FAULT_DELIVERY_CHECKS,
  ['the neighbor affects no other account', wrongNeighbor],
];

const STORES_CHECKS: readonly Check<StoresRecord>[] = [
  ['the campaign has alerts to lose', idleStores],
  ['checks resume within 10 s', lateResumptions],
  ['every failure is a response of the target', ownFailures],
  ['lasting responses of a target are seen', ignoredResponses],
];

export function findViolations(record: RunRecord): Violation[] {
  return [...violationsOf(record), ...runChecks(EVIDENCE_CHECKS, record)];
}

function violationsOf(record: RunRecord): Violation[] {
  switch (record.campaign) {
    case 'faults':
      return runChecks(FAULT_CHECKS, record);
    case 'steady':
      return runChecks(STEADY_CHECKS, record);
    case 'networks':
      return runChecks([...ALERT_CHECKS, ...(record.hasCanaries ? ISOLATION_CHECKS : [])], record);
    case 'stores':
      return runChecks(STORES_CHECKS, record);
    case 'rollout':
      return runChecks(ROLLOUT_CHECKS, record);
  }
}

function runChecks<Of>(checks: readonly Check<Of>[], record: Of): Violation[] {
  return checks.flatMap(([invariant, find]) => find(record).map((detail) => ({ invariant, detail })));
}

function unfiredFaults({ kinds, faults }: FaultRecord): string[] {
  return kinds
    .filter((kind) => !faults.some(({ name, firedAt }) => name === kind && firedAt !== null))
    .map((kind) => `${kind} was not: ${faults.find(({ name }) => name === kind)?.note ?? 'not planned'}`);
}

/** A campaign without alerts proves nothing. */
function idleCampaign({ monitors, database, receipts, channels, windows }: FaultRecord): string[] {
  const changes = new Set(
    database.statusChanges.flatMap(({ monitorId, to }) => [monitorId, `${monitorId} ${to}`]),
  );
  const failing = monitors.filter(({ plan }) => plan.turns.some(({ state }) => state !== 'up'));
  const down = failing.filter(({ id }) => changes.has(`${id} DOWN`)).length;
  const wasMaintained = database.statusChanges.some(({ to }) => to === 'MAINTENANCE');
  // A monitor that was deleted may never have been checked.
  const unchanged = monitors.filter(({ id, deletedAt }) => deletedAt === null && !changes.has(id));
  const idle = channels.filter(({ plan }) => !receipts.some(({ key }) => key === plan.key));
  return [
    ...(windows.length > 0 && !wasMaintained ? ['no monitor was in maintenance'] : []),
    ...unchanged.map(({ plan }) => `${plan.key} never changed its status`),
    ...(failing.length > 0 && 2 * down >= failing.length
      ? []
      : [`${down} of ${failing.length} monitors were DOWN`]),
    ...idle.map(({ plan }) => `${plan.key} received nothing`),
  ];
}

function internalErrors({ apiStatuses }: FaultRecord): string[] {
  return [...apiStatuses]
    .filter(([status]) => status >= 500 && status !== 503 && status !== 504)
    .map(([status, count]) => `${count} responses had status ${status}`);
}

function idleStores({ monitors, database }: StoresRecord): string[] {
  const down = new Set(database.incidents.map(({ monitorId }) => monitorId)).size;
  return 2 * down >= monitors.length ? [] : [`${down} of ${monitors.length} monitors were DOWN`];
}

function lateResumptions({ kills }: StoresRecord): string[] {
  return kills
    .filter(({ firstMs }) => firstMs > RESUME_WITHIN_MS)
    .map(
      ({ store, at, firstMs }) => `${Math.round(firstMs / 1_000)} s after ${store} was killed at ${iso(at)}`,
    );
}

function ownFailures({ database }: StoresRecord): string[] {
  return database.events
    .filter(({ statusCode }) => statusCode === null)
    .map(({ monitorId, timestamp, errorReason }) => `${monitorId} at ${iso(timestamp)}: ${errorReason}`);
}
