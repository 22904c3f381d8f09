import { createHmac } from 'node:crypto';
import type {
  Backlog,
  CampaignRecord,
  ChannelFacts,
  DeliveryFacts,
  MonitorFacts,
  Violation,
} from './record.ts';
import type { Receipt } from '../world/receivers.ts';

const SECRET_PREFIX = 'whsec_';

/** The channels that a monitor is assigned to, disabled or not: what a disabled one is due is kept for it. */
function channelsOf({ channels }: CampaignRecord, { plan }: MonitorFacts): ChannelFacts[] {
  return channels.filter((channel) => channel.plan.monitors?.includes(plan.key) ?? true);
}

/** Each webhook event has a delivery to each channel that was assigned to its monitor. */
export function missingDeliveries(record: CampaignRecord): Violation[] {
  const invariant = 'each webhook event goes to each channel';
  const made = new Set(record.database.deliveries.map(placeOf));
  return record.database.statusChanges.flatMap((change) => {
    const monitor = record.monitors.find(({ id }) => id === change.monitorId);
    if (monitor === undefined || change.webhookEvents.length === 0) return [];
    const assigned = channelsOf(record, monitor);
    const of = `${monitor.plan.key}: status change ${change.id}`;
    const forgotten = assigned
      .filter(({ id }) => !change.channelIds.includes(id))
      .map(({ plan }) => ({ invariant, detail: `${of} does not name channel ${plan.key}` }));
    const missing = assigned.flatMap(({ id, plan }) =>
      change.webhookEvents
        .filter(({ event }) => !made.has(placeOf({ statusChangeId: change.id, event, channelId: id })))
        .map(({ event }) => ({ invariant, detail: `${of} has no delivery of ${event} to ${plan.key}` })),
    );
    return forgotten.concat(missing);
  });
}

function placeOf(of: Pick<DeliveryFacts, 'statusChangeId' | 'event' | 'channelId'>): string {
  return `${of.statusChangeId} ${of.event} ${of.channelId}`;
}

/** Each delivery is of a webhook event, with the bytes that were frozen for it, to a channel that its monitor is assigned to. */
export function strayDeliveries(record: CampaignRecord): Violation[] {
  const changes = new Map(record.database.statusChanges.map((change) => [change.id, change]));
  const monitors = new Map(record.monitors.map((monitor) => [monitor.id, monitor]));
  return record.database.deliveries.flatMap((delivery) => {
    const change = changes.get(delivery.statusChangeId);
    const monitor = monitors.get(delivery.monitorId);
    const frozen = change?.webhookEvents.find(({ event }) => event === delivery.event);
    const invariant = 'each delivery is due to its channel';
    const complain = (what: string): Violation[] => [
      { invariant, detail: `${nameOf(record, delivery)} ${what}` },
    ];
    if (monitor === undefined || change?.monitorId !== delivery.monitorId || frozen === undefined) {
      return complain('is of no webhook event');
    }
    if (!channelsOf(record, monitor).some(({ id }) => id === delivery.channelId)) {
      return complain('goes to a channel that its monitor is not assigned to');
    }
    if (frozen.payload === delivery.payload) return [];
    return complain(`holds ${delivery.payload} instead of ${frozen.payload}`);
  });
}

/** Each delivery was received, or can be seen to be undelivered: in Postgres and in the API. */
export function lostDeliveries(record: CampaignRecord): Violation[] {
  const invariant = 'each delivery is received or visible as undelivered';
  const received = new Set(record.receipts.filter(isTaken).map(({ id }) => id));
  const shown = new Set(record.undelivered.shown);
  const lost = record.database.deliveries.flatMap((delivery) => {
    if (delivery.state === 'delivered' && !received.has(delivery.id)) {
      return [
        { invariant, detail: `${nameOf(record, delivery)} is delivered, and its receiver took nothing` },
      ];
    }
    return [];
  });
  const hidden = record.undelivered.stored
    .filter(({ id }) => !shown.has(id))
    .map(({ id }) => ({ invariant, detail: `delivery ${id} is undelivered, and the API does not show it` }));
  return [...lost, ...hidden];
}

/** At the end everything is delivered that somebody takes: to all receivers but the broken one. */
export function undelivered(record: CampaignRecord): Violation[] {
  const broken = new Set(record.channels.filter(({ plan }) => plan.kind === 'broken').map(({ id }) => id));
  return record.database.deliveries
    .filter(({ state, channelId }) => state !== 'delivered' && !broken.has(channelId))
    .map((delivery) => ({
      invariant: 'what a receiver takes is delivered in the end',
      detail: `${nameOf(record, delivery)} is ${delivery.state} after ${delivery.attemptCount} attempts`,
    }));
}

/** Before the next attempt, by how many there were, seconds (design §4 "Delivery"). */
const DELAYS_SECONDS = [0, 5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800];
const JITTER = 1.2;
const GONE = 410;

/**
 * Nothing is given up, or put off, before its time: failed is what its receiver wants no more, held what a disabled channel is due,
 * and pending what is tried again as the schedule says.
 */
export function givenUpDeliveries(record: CampaignRecord): Violation[] {
  const gone = new Set(record.receipts.filter(({ status }) => status === GONE).map(({ id }) => id));
  return record.undelivered.stored.flatMap(
    ({ id, channelId, state, attempts, dueInMs, isChannelEnabled }) => {
      const channel = record.channels.find((one) => one.id === channelId)?.plan.key;
      const complain = (what: string): Violation[] => [
        {
          invariant: 'nothing is given up or put off too early',
          detail: `delivery ${id} to ${channel} ${what}`,
        },
      ];
      if (state === 'failed') return gone.has(id) ? [] : complain('is failed, and nobody answered 410');
      if (state === 'held') return isChannelEnabled ? complain('is held for an enabled channel') : [];
      const mostMs = (DELAYS_SECONDS[attempts] ?? DELAYS_SECONDS.at(-1) ?? 0) * JITTER * 1_000;
      if (dueInMs === null) return complain('is pending without a time');
      return dueInMs > mostMs + 1 ? complain(`is put off for ${dueInMs} ms after ${attempts} attempts`) : [];
    },
  );
}

/** What the API said that it makes again is received again. */
export function lostRedeliveries({ redelivered, receipts }: CampaignRecord): Violation[] {
  return redelivered
    .filter(({ id, since }) => !receipts.some((receipt) => receipt.id === id && receipt.at >= since))
    .map(({ id, since }) => ({
      invariant: 'what is redelivered is received again',
      detail: `delivery ${id}, redelivered after ${new Date(since).toISOString()}, did not come`,
    }));
}

function isTaken({ status }: Receipt): boolean {
  return status !== null && status >= 200 && status < 300;
}

function nameOf(record: CampaignRecord, delivery: DeliveryFacts): string {
  const monitor = record.monitors.find(({ id }) => id === delivery.monitorId)?.plan.key;
  const channel = record.channels.find(({ id }) => id === delivery.channelId)?.plan.key;
  return `${delivery.event} of ${monitor} to ${channel} (delivery ${delivery.id})`;
}

/** Whatever was received is a delivery of that channel, byte for byte, and signed for it. */
export function unknownReceipts(record: CampaignRecord): Violation[] {
  const deliveries = new Map(record.database.deliveries.map((delivery) => [delivery.id, delivery]));
  const channels = new Map(record.channels.map((channel) => [channel.plan.key, channel]));
  const strays = record.strays.map((request) => ({
    invariant: 'nothing is received that is not stored',
    detail: `somebody asked for ${request}`,
  }));
  const wrong = record.receipts.flatMap((receipt) => {
    const delivery = deliveries.get(receipt.id);
    const channel = channels.get(receipt.key);
    if (delivery === undefined || channel === undefined || delivery.channelId !== channel.id) {
      const detail = `${receipt.key} received ${receipt.id}, which is no delivery of its channel`;
      return [{ invariant: 'nothing is received that is not stored', detail }];
    }
    const complaint = complaintAbout(receipt, delivery, channel);
    if (complaint === null) return [];
    const detail = `${nameOf(record, delivery)}: ${complaint}`;
    return [{ invariant: 'every attempt is the same, and signed', detail }];
  });
  return [...strays, ...wrong];
}

function complaintAbout(receipt: Receipt, delivery: DeliveryFacts, channel: ChannelFacts): string | null {
  if (receipt.body !== delivery.payload) return `received ${receipt.body} instead of ${delivery.payload}`;
  const secret = Buffer.from(channel.secret.slice(SECRET_PREFIX.length), 'base64');
  const signed = createHmac('sha256', secret)
    .update(`${receipt.id}.${receipt.signedAt}.${receipt.body}`)
    .digest('base64');
  return receipt.signature.split(' ').includes(`v1,${signed}`) ? null : 'its signature does not fit';
}

/** Receivers refuse a `webhook-timestamp` that is further from their own clock (Standard Webhooks). */
const SIGNED_WITHIN_MS = 5 * 60_000;

/** Each attempt is signed with a time that its receiver accepts. */
export function untimelySignatures({ receipts }: CampaignRecord): Violation[] {
  return receipts
    .filter(({ at, signedAt }) => !(Math.abs(at - Number(signedAt) * 1_000) <= SIGNED_WITHIN_MS))
    .map(({ at, signedAt, key, address }) => ({
      invariant: 'receivers accept the time of each attempt',
      detail: `${key} received, at ${new Date(at).toISOString()} from ${address}, what is signed for ${signedAt}`,
    }));
}

/** The log of attempts has as many as were counted. */
export function wrongAttempts(record: CampaignRecord): Violation[] {
  return record.database.deliveries
    .filter(({ attempts, attemptCount }) => attempts !== attemptCount)
    .map((delivery) => ({
      invariant: 'every attempt is in the log',
      detail: `${nameOf(record, delivery)}: ${delivery.attemptCount} attempts, ${delivery.attempts} in the log`,
    }));
}

/** Nothing waits whose time has come when all is quiet: neither before anybody asks for a redelivery, nor after it. */
export function fullOutbox({ leftAlone, database }: CampaignRecord): Violation[] {
  const invariant = 'the outbox empties';
  const waiting = (when: string, { undispatched, overdue }: Backlog): Violation[] => [
    ...(undispatched === 0
      ? []
      : [{ invariant, detail: `${undispatched} status changes wait for their deliveries ${when}` }]),
    ...(overdue === 0 ? [] : [{ invariant, detail: `${overdue} deliveries are overdue ${when}` }]),
  ];
  return [...waiting('by themselves', leftAlone), ...waiting('at the end', database.backlog)];
}
