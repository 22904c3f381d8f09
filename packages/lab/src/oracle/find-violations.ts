import { AGENT_CHECKS } from './agents.ts';
import { lostEdits, wrongMatches } from './assignments.ts';
import { EVENT_CHECKS, FAULT_EVENT_CHECKS } from './checks.ts';
import { idleFaults, idleNetworks, unfiredFaults, unnoticedTargets } from './coverage.ts';
import { DELIVERY_CHECKS, FAULT_DELIVERY_CHECKS } from './deliveries.ts';
import { iso } from './history.ts';
import { ISOLATION_CHECKS } from './isolations.ts';
import { MAINTENANCE_CHECKS } from './maintenance.ts';
import { wrongNeighbor } from './neighbor.ts';
import { OUTAGE_CHECKS } from './outages.ts';
import type {
  Check,
  Evidence,
  FaultRecord,
  NetworkRecord,
  RunRecord,
  StoresRecord,
  Violation,
} from './record.ts';
import { ROLLOUT_CHECKS } from './rollout.ts';
import { STATUS_CHECKS, wrongFinalStatuses } from './statuses.ts';
import { STEADY_CHECKS } from './steady.ts';
import { ignoredResponses } from './stretches.ts';

const RESUME_WITHIN_MS = 10_000;

const COMMON_CHECKS: readonly Check<Evidence>[] = [...EVENT_CHECKS, ...STATUS_CHECKS, ...DELIVERY_CHECKS];

const FAULT_CHECKS: readonly Check<FaultRecord>[] = [
  ['every kind of fault is fired', unfiredFaults],
  ['the campaign has alerts to lose', unnoticedTargets],
  ['the campaign has alerts to lose', idleFaults],
  ['services recover by themselves', ({ serviceProblems }) => [...serviceProblems]],
  ['the API responds with no 5xx but 503 and 504', internalErrors],
  ['accepted changes are kept', wrongMonitors],
  ['each confirmed label and selector is stored', lostEdits],
  ['each selector has the monitors that it matches', wrongMatches],
  ['lasting responses of a target are seen', ignoredResponses],
  ['each monitor shows the state of its target', wrongFinalStatuses],
  ['the neighbor affects no other account', wrongNeighbor],
  ...FAULT_EVENT_CHECKS,
  ...MAINTENANCE_CHECKS,
  ...FAULT_DELIVERY_CHECKS,
];

const NETWORK_CHECKS: readonly Check<NetworkRecord>[] = [
  ['the campaign has something to lose', idleNetworks],
  ['each monitor shows the state of its target', wrongFinalStatuses],
  ...OUTAGE_CHECKS,
];

const STORES_CHECKS: readonly Check<StoresRecord>[] = [
  ['the campaign has alerts to lose', unnoticedTargets],
  ['checks resume within 10 s', lateResumptions],
  ['every failure is a response of the target', ownFailures],
  ['lasting responses of a target are seen', ignoredResponses],
];

export function findViolations(record: RunRecord): Violation[] {
  return [...violationsOf(record), ...runChecks(COMMON_CHECKS, record)];
}

function violationsOf(record: RunRecord): Violation[] {
  switch (record.campaign) {
    case 'faults':
      return runChecks(FAULT_CHECKS, record);
    case 'steady':
      return runChecks(STEADY_CHECKS, record);
    case 'networks':
      return runChecks(
        [...NETWORK_CHECKS, ...(record.hasCanaries ? ISOLATION_CHECKS : []), ...AGENT_CHECKS],
        record,
      );
    case 'stores':
      return runChecks(STORES_CHECKS, record);
    case 'rollout':
      return runChecks(ROLLOUT_CHECKS, record);
  }
}

function runChecks<Of>(checks: readonly Check<Of>[], record: Of): Violation[] {
  return checks.flatMap(([invariant, find]) => find(record).map((detail) => ({ invariant, detail })));
}

function internalErrors({ apiStatuses }: FaultRecord): string[] {
  return [...apiStatuses]
    .filter(([status]) => status >= 500 && status !== 503 && status !== 504)
    .map(([status, count]) => `${count} responses had status ${status}`);
}

/** Postgres has exactly the monitors that were created and not deleted, with their last edits. */
function wrongMonitors({ monitors, promised, database }: FaultRecord): string[] {
  const stored = new Map(database.monitors.map((monitor) => [monitor.id, monitor]));
  const known = new Set(monitors.map(({ id }) => id));
  const wrong = monitors.flatMap(({ id, plan, deletedAt, names, thresholds }) => {
    const found = stored.get(id);
    if (deletedAt !== null) return found === undefined ? [] : [`${plan.key} was deleted, but exists`];
    if (found === undefined) return [`${plan.key} was created, but does not exist`];
    const actual = `${found.name}, threshold ${found.failureThreshold}`;
    const wanted = `${names.at(-1)}, threshold ${thresholds.at(-1)?.value ?? plan.failureThreshold}`;
    return actual === wanted ? [] : [`${plan.key} is called ${actual}, not ${wanted}`];
  });
  const unknown = database.monitors.filter(({ id }) => !known.has(id));
  const lost = promised.filter(({ id }) => !known.has(id));
  return [
    ...wrong,
    ...unknown.map(({ id }) => `unknown monitor ${id}`),
    ...lost.map(({ id, key }) => `an api created ${key} as ${id}, which was lost`),
  ];
}

function lateResumptions({ kills }: StoresRecord): string[] {
  return kills
    .filter(({ firstMs }) => firstMs > RESUME_WITHIN_MS)
    .map(({ store, at, firstMs }) => {
      return `${Math.round(firstMs / 1_000)} s after ${store} was killed at ${iso(at)}`;
    });
}

function ownFailures({ database }: StoresRecord): string[] {
  return database.events
    .filter(({ statusCode }) => statusCode === null)
    .map(({ monitorId, timestamp, errorReason }) => `${monitorId} at ${iso(timestamp)}: ${errorReason}`);
}
