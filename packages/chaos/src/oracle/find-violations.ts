import {
  fullOutbox,
  givenUpDeliveries,
  lostDeliveries,
  lostRedeliveries,
  missingDeliveries,
  strayDeliveries,
  undelivered,
  untimelySignatures,
  unknownReceipts,
  wrongAttempts,
} from './check-deliveries.ts';
import { brokenTails, longUnchecked, repeatedSlots, unfoundedEvents } from './check-events.ts';
import { unexplainedFailures } from './check-failures.ts';
import { alertsDuringMaintenance, wrongMaintenance, wronglyMissedWindows } from './check-maintenance.ts';
import { wrongMonitors } from './check-monitors.ts';
import { wrongNeighbour } from './check-neighbour.ts';
import {
  wrongFinalStatuses,
  wrongIncidents,
  wrongStatusChanges,
  wrongWebhookEvents,
} from './check-statuses.ts';
import { idleReplicas, ignoredAnswers, strayChecks } from './check-targets.ts';
import { wrongTellings } from './check-tellings.ts';
import type { CampaignRecord, Violation } from './record.ts';

/** Everything that must never happen, and did. */
export function findViolations(record: CampaignRecord): Violation[] {
  return [
    unfiredFaults,
    idleCampaign,
    serviceTroubles,
    idleReplicas,
    internalErrors,
    wrongMonitors,
    ignoredAnswers,
    strayChecks,
    unfoundedEvents,
    unexplainedFailures,
    repeatedSlots,
    longUnchecked,
    brokenTails,
    wrongStatusChanges,
    wrongWebhookEvents,
    wrongTellings,
    wrongMaintenance,
    wronglyMissedWindows,
    alertsDuringMaintenance,
    wrongIncidents,
    wrongFinalStatuses,
    missingDeliveries,
    strayDeliveries,
    lostDeliveries,
    givenUpDeliveries,
    undelivered,
    lostRedeliveries,
    unknownReceipts,
    untimelySignatures,
    wrongAttempts,
    fullOutbox,
    wrongNeighbour,
  ].flatMap((check) => check(record));
}

/** Each kind of fault was fired at least once. */
function unfiredFaults({ kinds, faults }: CampaignRecord): Violation[] {
  return kinds
    .filter((kind) => !faults.some(({ name, firedAt }) => name === kind && firedAt !== null))
    .map((kind) => ({
      invariant: 'every kind of fault is fired',
      detail: `${kind} was not: ${faults.find(({ name }) => name === kind)?.note ?? 'not planned'}`,
    }));
}

/** A campaign in which nothing happens proves nothing: each monitor came up, and half of those whose target fails went DOWN. */
function idleCampaign({ monitors, database, receipts, channels, windows }: CampaignRecord): Violation[] {
  const invariant = 'there was something to lose';
  const changed = new Set(database.statusChanges.map(({ monitorId }) => monitorId));
  const down = new Set(
    database.statusChanges.filter(({ to }) => to === 'DOWN').map(({ monitorId }) => monitorId),
  );
  const failing = monitors.filter(({ plan }) => plan.turns.some(({ state }) => state !== 'up'));
  const seen = failing.filter(({ id }) => down.has(id)).length;
  return [
    ...(windows.length > 0 && !database.statusChanges.some(({ to }) => to === 'MAINTENANCE')
      ? [{ invariant, detail: 'no monitor was in maintenance' }]
      : []),
    ...monitors
      // One that was deleted may never have been checked.
      .filter(({ id, deletedAt }) => deletedAt === null && !changed.has(id))
      .map(({ plan }) => ({ invariant, detail: `${plan.key} never changed its status` })),
    ...(failing.length > 0 && 2 * seen >= failing.length
      ? []
      : [{ invariant, detail: `${seen} of ${failing.length} monitors were DOWN` }]),
    ...channels
      .filter(({ plan }) => !receipts.some(({ key }) => key === plan.key))
      .map(({ plan }) => ({ invariant, detail: `${plan.key} received nothing` })),
  ];
}

/** Services end when they are told to, cleanly, and come back by themselves. */
function serviceTroubles(record: CampaignRecord): Violation[] {
  return record.serviceTroubles.map((detail) => ({ invariant: 'services recover by themselves', detail }));
}

/** What the API answers while something is away: a 503 or a 504, and never that it does not know what happened. */
function internalErrors({ apiStatuses }: CampaignRecord): Violation[] {
  return [...apiStatuses]
    .filter(([status]) => status >= 500 && status !== 503 && status !== 504)
    .map(([status, count]) => ({
      invariant: 'the API says what is wrong',
      detail: `${count} requests were answered ${status}`,
    }));
}
