import {
  brokenTails,
  idleReplicas,
  ignoredResponses,
  longUnchecked,
  repeatedSlots,
  strayChecks,
  unexplainedFailures,
  unfoundedEvents,
  wrongMonitors,
} from './checks.ts';
import {
  hiddenDeliveries,
  lostDeliveries,
  lostRedeliveries,
  missingDeliveries,
  overdueWithoutHelp,
  overdueWork,
  prematureFailures,
  staleTimestamps,
  strayDeliveries,
  undelivered,
  unknownReceipts,
  unloggedAttempts,
  wrongAttempts,
} from './deliveries.ts';
import { alertsDuringMaintenance, wrongMaintenance, wronglyMissedWindows } from './maintenance.ts';
import { wrongNeighbour } from './neighbour.ts';
import type { CampaignRecord, Evidence, Violation } from './record.ts';
import {
  wrongFinalStatuses,
  wrongIncidents,
  wrongPayloads,
  wrongStatusChanges,
  wrongWebhookEvents,
} from './statuses.ts';

/** An invariant, and what finds its violations: one sentence each. */
export type Check<Of> = readonly [invariant: string, find: (record: Of) => string[]];

/** What must hold in every campaign. */
export const EVIDENCE_CHECKS: readonly Check<Evidence>[] = [
  ['every event has a request', unfoundedEvents],
  ['a slot is recorded once', repeatedSlots],
  ['statuses follow from events', wrongStatusChanges],
  ['each status change has its webhook events', wrongWebhookEvents],
  ['payloads follow from events', wrongPayloads],
  ['one incident for each outage', wrongIncidents],
  ['each webhook event goes to each channel', missingDeliveries],
  ['each delivery belongs to its channel', strayDeliveries],
  ['each delivery is received or visible as undelivered', lostDeliveries],
  ['everything is delivered in the end', undelivered],
  ['nothing is received that is not stored', unknownReceipts],
  ['every attempt has the stored bytes and a valid signature', wrongAttempts],
  ['every attempt has a current timestamp', staleTimestamps],
  ['every attempt is in the log', unloggedAttempts],
  ['the outbox empties', overdueWork],
];

const CAMPAIGN_CHECKS: readonly Check<CampaignRecord>[] = [
  ['every kind of fault is fired', unfiredFaults],
  ['the campaign has alerts to lose', idleCampaign],
  ['services recover by themselves', ({ serviceProblems }) => [...serviceProblems]],
  ['services recover by themselves', idleReplicas],
  ['the API responds with no 5xx but 503 and 504', internalErrors],
  ['accepted changes are kept', wrongMonitors],
  // Under load every request is counted, which is stricter.
  ['lasting responses of a target are seen', ignoredResponses],
  ['deleted monitors are not checked', strayChecks],
  ['every failure has a cause', unexplainedFailures],
  ['no monitor stays unchecked', longUnchecked],
  ['tailing misses and repeats nothing', brokenTails],
  ['maintenance follows its windows', wrongMaintenance],
  ['maintenance follows its windows', wronglyMissedWindows],
  ['no alerts during maintenance', alertsDuringMaintenance],
  ['each monitor shows the state of its target', wrongFinalStatuses],
  ['each delivery is received or visible as undelivered', hiddenDeliveries],
  ['no delivery fails or is delayed too early', prematureFailures],
  ['redeliveries are received', lostRedeliveries],
  ['the outbox empties', overdueWithoutHelp],
  ['the neighbour affects no other account', wrongNeighbour],
];

/** The violations of a fault campaign. */
export function findViolations(record: CampaignRecord): Violation[] {
  return [...runChecks(CAMPAIGN_CHECKS, record), ...runChecks(EVIDENCE_CHECKS, record)];
}

export function runChecks<Of>(checks: readonly Check<Of>[], record: Of): Violation[] {
  return checks.flatMap(([invariant, find]) => find(record).map((detail) => ({ invariant, detail })));
}

function unfiredFaults({ kinds, faults }: CampaignRecord): string[] {
  return kinds
    .filter((kind) => !faults.some(({ name, firedAt }) => name === kind && firedAt !== null))
    .map((kind) => `${kind} was not: ${faults.find(({ name }) => name === kind)?.note ?? 'not planned'}`);
}

/** A campaign without alerts proves nothing: each monitor came up, and half of those whose target fails went DOWN. */
function idleCampaign({ monitors, database, receipts, channels, windows }: CampaignRecord): string[] {
  const changedTo = (wanted: string | null): Set<string> =>
    new Set(
      database.statusChanges
        .filter(({ to }) => wanted === null || to === wanted)
        .map(({ monitorId }) => monitorId),
    );
  const [changed, down] = [changedTo(null), changedTo('DOWN')];
  const failing = monitors.filter(({ plan }) => plan.turns.some(({ state }) => state !== 'up'));
  const seen = failing.filter(({ id }) => down.has(id)).length;
  return [
    ...(windows.length > 0 && changedTo('MAINTENANCE').size === 0 ? ['no monitor was in maintenance'] : []),
    ...monitors
      // One that was deleted may never have been checked.
      .filter(({ id, deletedAt }) => deletedAt === null && !changed.has(id))
      .map(({ plan }) => `${plan.key} never changed its status`),
    ...(failing.length > 0 && 2 * seen >= failing.length
      ? []
      : [`${seen} of ${failing.length} monitors were DOWN`]),
    ...channels
      .filter(({ plan }) => !receipts.some(({ key }) => key === plan.key))
      .map(({ plan }) => `${plan.key} received nothing`),
  ];
}

function internalErrors({ apiStatuses }: CampaignRecord): string[] {
  return [...apiStatuses]
    .filter(([status]) => status >= 500 && status !== 503 && status !== 504)
    .map(([status, count]) => `${count} requests were answered ${status}`);
}
