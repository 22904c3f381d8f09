import { createHmac } from 'node:crypto';
import type { Receipt } from '../world/receivers.ts';
import { groupBy, iso } from './history.ts';
import type {
  Backlog,
  CampaignRecord,
  ChannelFacts,
  DeliveryFacts,
  Evidence,
  MonitorFacts,
} from './record.ts';

const SECRET_PREFIX = 'whsec_';
const GONE = 410;

/** The channels that a monitor is assigned to, disabled or not: deliveries to a disabled one are held for it. */
function channelsOf({ channels }: Evidence, { plan }: MonitorFacts): ChannelFacts[] {
  return channels.filter((channel) => channel.plan.monitors?.includes(plan.key) ?? true);
}

function nameOf(evidence: Evidence, delivery: DeliveryFacts): string {
  const monitor = evidence.monitors.find(({ id }) => id === delivery.monitorId)?.plan.key;
  const channel = evidence.channels.find(({ id }) => id === delivery.channelId)?.plan.key;
  return `${delivery.event} of ${monitor} to ${channel} (delivery ${delivery.id})`;
}

function keyOf(of: Pick<DeliveryFacts, 'statusChangeId' | 'event' | 'channelId'>): string {
  return `${of.statusChangeId} ${of.event} ${of.channelId}`;
}

/** Each webhook event has a delivery to each channel that was assigned to its monitor. */
export function missingDeliveries(evidence: Evidence): string[] {
  const made = new Set(evidence.database.deliveries.map(keyOf));
  const monitors = new Map(evidence.monitors.map((monitor) => [monitor.id, monitor]));
  return evidence.database.statusChanges.flatMap((change) => {
    const monitor = monitors.get(change.monitorId);
    if (monitor === undefined || change.webhookEvents.length === 0) return [];
    const of = `${monitor.plan.key}: status change ${change.id}`;
    return channelsOf(evidence, monitor).flatMap(({ id, plan }) => {
      const missing = change.webhookEvents
        .filter(({ event }) => !made.has(keyOf({ statusChangeId: change.id, event, channelId: id })))
        .map(({ event }) => `${of} has no delivery of ${event} to ${plan.key}`);
      return change.channelIds.includes(id)
        ? missing
        : missing.concat(`${of} does not name channel ${plan.key}`);
    });
  });
}

/** Each delivery belongs to a webhook event, has the bytes that were frozen for it, and goes to a channel of its monitor. */
export function strayDeliveries(evidence: Evidence): string[] {
  const changes = new Map(evidence.database.statusChanges.map((change) => [change.id, change]));
  const monitors = new Map(evidence.monitors.map((monitor) => [monitor.id, monitor]));
  return evidence.database.deliveries.flatMap((delivery) => {
    const change = changes.get(delivery.statusChangeId);
    const monitor = monitors.get(delivery.monitorId);
    const frozen = change?.webhookEvents.find(({ event }) => event === delivery.event);
    const complain = (what: string): string[] => [`${nameOf(evidence, delivery)} ${what}`];
    if (monitor === undefined || change?.monitorId !== delivery.monitorId || frozen === undefined) {
      return complain('is of no webhook event');
    }
    if (!channelsOf(evidence, monitor).some(({ id }) => id === delivery.channelId)) {
      return complain('goes to a channel that its monitor is not assigned to');
    }
    if (frozen.payload === delivery.payload) return [];
    return complain(`holds ${delivery.payload} instead of ${frozen.payload}`);
  });
}

/** Each delivery that is marked as delivered was accepted by its receiver. */
export function lostDeliveries(evidence: Evidence): string[] {
  const accepted = new Set(evidence.receipts.filter(isAccepted).map(({ id }) => id));
  return evidence.database.deliveries
    .filter(({ id, state }) => state === 'delivered' && !accepted.has(id))
    .map((delivery) => `${nameOf(evidence, delivery)} is delivered, but its receiver accepted nothing`);
}

/** Each undelivered delivery is visible in the API. */
export function hiddenDeliveries({ undelivered }: CampaignRecord): string[] {
  const shown = new Set(undelivered.shown);
  return undelivered.stored
    .filter(({ id }) => !shown.has(id))
    .map(({ id }) => `delivery ${id} is undelivered, and the API does not show it`);
}

/** At the end everything is delivered to receivers that respond with 200. */
export function undelivered(evidence: Evidence): string[] {
  const broken = new Set(evidence.channels.filter(({ plan }) => plan.kind === 'broken').map(({ id }) => id));
  return evidence.database.deliveries
    .filter(({ state, channelId }) => state !== 'delivered' && !broken.has(channelId))
    .map((one) => `${nameOf(evidence, one)} is ${one.state} after ${one.attemptCount} attempts`);
}

/** Before the next attempt, by the number of attempts, in seconds (docs/reference/delivery.md). */
const DELAYS_SECONDS = [0, 5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800];
const JITTER = 1.2;

/** Only a 410 fails a delivery, only a disabled channel holds it, and its next attempt is no later than scheduled. */
export function prematureFailures({ receipts, undelivered, channels }: CampaignRecord): string[] {
  const gone = new Set(receipts.filter(({ status }) => status === GONE).map(({ id }) => id));
  return undelivered.stored.flatMap(({ id, channelId, state, attempts, dueInMs, isChannelEnabled }) => {
    const channel = channels.find((one) => one.id === channelId)?.plan.key;
    const complain = (what: string): string[] => [`delivery ${id} to ${channel} ${what}`];
    if (state === 'failed') return gone.has(id) ? [] : complain('failed without a 410');
    if (state === 'held') return isChannelEnabled ? complain('is held for an enabled channel') : [];
    const maxMs = (DELAYS_SECONDS[attempts] ?? DELAYS_SECONDS.at(-1) ?? 0) * JITTER * 1_000;
    if (dueInMs === null) return complain('is pending without a time');
    return dueInMs > maxMs + 1 ? complain(`is delayed by ${dueInMs} ms after ${attempts} attempts`) : [];
  });
}

/** Redeliveries that the API accepted are received. */
export function lostRedeliveries({ redelivered, receipts }: CampaignRecord): string[] {
  return redelivered
    .filter(({ id, since }) => !receipts.some((receipt) => receipt.id === id && receipt.at >= since))
    .map(({ id, since }) => `delivery ${id}, redelivered after ${iso(since)}, did not arrive`);
}

function isAccepted({ status }: Receipt): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** Each request to a receiver is a delivery to its channel. */
export function unknownReceipts(evidence: Evidence): string[] {
  const find = deliveryOf(evidence);
  const unknown = evidence.receipts.filter((receipt) => find(receipt) === null);
  return [
    ...evidence.strays.map((request) => `unknown request ${request}`),
    ...unknown.map(({ key, id }) => `${key} received ${id}, which is no delivery of its channel`),
  ];
}

/** Each attempt sends the stored bytes, signed with the secret of its channel. */
export function wrongAttempts(evidence: Evidence): string[] {
  const find = deliveryOf(evidence);
  return evidence.receipts.flatMap((receipt) => {
    const found = find(receipt);
    if (found === null) return [];
    const { delivery, channel } = found;
    const name = nameOf(evidence, delivery);
    if (receipt.body !== delivery.payload) {
      return [`${name}: received ${receipt.body} instead of ${delivery.payload}`];
    }
    const secret = Buffer.from(channel.secret.slice(SECRET_PREFIX.length), 'base64');
    const signature = createHmac('sha256', secret)
      .update(`${receipt.id}.${receipt.signedAt}.${receipt.body}`)
      .digest('base64');
    const isSigned = receipt.signature.split(' ').includes(`v1,${signature}`);
    return isSigned ? [] : [`${name}: the signature does not match`];
  });
}

function deliveryOf(
  evidence: Evidence,
): (receipt: Receipt) => { delivery: DeliveryFacts; channel: ChannelFacts } | null {
  const deliveries = new Map(evidence.database.deliveries.map((delivery) => [delivery.id, delivery]));
  const channels = new Map(evidence.channels.map((channel) => [channel.plan.key, channel]));
  return ({ id, key }) => {
    const [delivery, channel] = [deliveries.get(id), channels.get(key)];
    return delivery && channel && delivery.channelId === channel.id ? { delivery, channel } : null;
  };
}

/** Receivers refuse a `webhook-timestamp` that is further from their own clock (Standard Webhooks). */
const SIGNED_WITHIN_MS = 5 * 60_000;

/** Each attempt has a timestamp that receivers accept. */
export function staleTimestamps({ receipts }: Evidence): string[] {
  return receipts
    .filter(({ at, signedAt }) => !(Math.abs(at - Number(signedAt) * 1_000) <= SIGNED_WITHIN_MS))
    .map(
      ({ at, signedAt, key, address }) =>
        `${key} received at ${iso(at)} from ${address} a webhook that is signed for ${signedAt}`,
    );
}

/** The attempt log is complete. */
export function unloggedAttempts(evidence: Evidence): string[] {
  return evidence.database.deliveries
    .filter(({ attempts, attemptCount }) => attempts !== attemptCount)
    .map((one) => `${nameOf(evidence, one)}: ${one.attemptCount} attempts, ${one.attempts} in the log`);
}

/** Nothing is overdue once the system is quiet. */
export function overdueWork({ database }: Evidence): string[] {
  return describeBacklog('at the end', database.backlog);
}

/** The same before any redelivery by hand. */
export function overdueWithoutHelp({ leftAlone }: CampaignRecord): string[] {
  return describeBacklog('before redeliveries', leftAlone);
}

function describeBacklog(when: string, { undispatched, overdue }: Backlog): string[] {
  return [
    ...(undispatched === 0 ? [] : [`${undispatched} status changes have no deliveries ${when}`]),
    ...(overdue === 0 ? [] : [`${overdue} deliveries are overdue ${when}`]),
  ];
}

/** Deliveries that were received more than once, with the number of requests. */
export function repeatedReceipts({ receipts }: Evidence): string[] {
  return [...groupBy(receipts, ({ id }) => id)]
    .filter(([, all]) => all.length > 1)
    .map(([id, all]) => `delivery ${id} was received ${all.length} times`);
}
