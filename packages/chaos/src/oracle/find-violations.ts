import {
  fullOutbox,
  lostDeliveries,
  missingDeliveries,
  undelivered,
  unknownReceipts,
  wrongAttempts,
} from './check-deliveries.ts';
import { brokenTails, longUnchecked, repeatedSlots, unfoundedEvents } from './check-events.ts';
import {
  wrongFinalStatuses,
  wrongIncidents,
  wrongStatusChanges,
  wrongWebhookEvents,
} from './check-statuses.ts';
import type { CampaignRecord, Violation } from './record.ts';

/** Everything that must never happen, and did. */
export function findViolations(record: CampaignRecord): Violation[] {
  return [
    unfiredFaults,
    idleCampaign,
    serviceTroubles,
    internalErrors,
    unfoundedEvents,
    repeatedSlots,
    longUnchecked,
    brokenTails,
    wrongStatusChanges,
    wrongWebhookEvents,
    wrongIncidents,
    wrongFinalStatuses,
    missingDeliveries,
    lostDeliveries,
    undelivered,
    unknownReceipts,
    wrongAttempts,
    fullOutbox,
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

/** A campaign in which nothing happens proves nothing. */
function idleCampaign({ monitors, database, receipts, channels }: CampaignRecord): Violation[] {
  const invariant = 'there was something to lose';
  const changed = new Set(database.statusChanges.map(({ monitorId }) => monitorId));
  return [
    ...monitors
      .filter(({ id }) => !changed.has(id))
      .map(({ plan }) => ({ invariant, detail: `${plan.key} never changed its status` })),
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
