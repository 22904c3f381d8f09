import { createHmac } from 'node:crypto';
import type { Receipt } from '../world/receivers.ts';
import { mustReceive } from './assignments.ts';
import { groupBy, iso } from './history.ts';
import type { Backlog, FaultRecord, ChannelFacts, Check, DeliveryFacts, Evidence } from './record.ts';

const SECRET_PREFIX = 'whsec_';
const GONE = 410;
/** Delay before the next attempt in seconds, by the number of attempts (docs/concepts/delivery.md). */
const DELAYS_SECONDS = [0, 5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800];
const JITTER = 1.2;
/** Receivers reject a `webhook-timestamp` that differs more from their own clock (Standard Webhooks). */
const SIGNED_WITHIN_MS = 5 * 60_000;

export const DELIVERY_CHECKS: readonly Check<Evidence>[] = [
  ['each webhook event goes to each channel', missingDeliveries],
  ['each delivery belongs to its channel', strayDeliveries],
  ['each delivery is received or visible as undelivered', lostDeliveries],
  ['everything is delivered in the end', undelivered],
  ['nothing is received that is not stored', unknownReceipts],
  ['every attempt has the stored bytes and a valid signature', wrongAttempts],
  ['every attempt has a current timestamp', staleTimestamps],
  ['every attempt is in the log', unloggedAttempts],
  ['the outbox empties', ({ database }) => describeBacklog('at the end', database.backlog)],
];

export const FAULT_DELIVERY_CHECKS: readonly Check<FaultRecord>[] = [
  ['each delivery is received or visible as undelivered', hiddenDeliveries],
  ['no delivery fails or is delayed too early', prematureFailures],
  ['redeliveries are received', lostRedeliveries],
  [
    'the outbox empties',
    ({ backlogBeforeRedelivery }) => describeBacklog('before redeliveries', backlogBeforeRedelivery),
  ],
];

function keyOf(
  all: readonly { readonly id: string; readonly plan: { readonly key: string } }[],
  wanted: string,
): string | undefined {
  return all.find(({ id }) => id === wanted)?.plan.key;
}

function describe(
  { monitors, channels }: Evidence,
  { id, event, monitorId, channelId }: DeliveryFacts,
): string {
  return `${event} of ${keyOf(monitors, monitorId)} to ${keyOf(channels, channelId)} (delivery ${id})`;
}

/** Each webhook event has a delivery to each channel that must receive it. Deliveries to a disabled channel are held. */
function missingDeliveries(evidence: Evidence): string[] {
  const made = new Set(
    evidence.database.deliveries.map((one) => `${one.statusChangeId} ${one.event} ${one.channelId}`),
  );
  return evidence.database.statusChanges.flatMap((change) => {
    const { id, monitorId, webhookEvents, channelIds, timestamp } = change;
    const monitor = evidence.monitors.find((one) => one.id === monitorId);
    if (monitor === undefined) return [];
    return evidence.channels
      .flatMap((channel) => {
        const due = webhookEvents.filter(({ event }) => mustReceive(channel, monitor, event, timestamp));
        const missing = due.filter(({ event }) => !made.has(`${id} ${event} ${channel.id}`));
        const problems = missing.map(({ event }) => `has no delivery of ${event} to ${channel.plan.key}`);
        if (due.length > 0 && !channelIds.includes(channel.id))
          problems.push(`does not name channel ${channel.plan.key}`);
        return problems;
      })
      .map((problem) => `${monitor.plan.key}: status change ${id} ${problem}`);
  });
}

/** Each delivery belongs to a webhook event, has its frozen payload, and goes to a channel that may receive it. */
function strayDeliveries(evidence: Evidence): string[] {
  const changes = new Map(evidence.database.statusChanges.map((change) => [change.id, change]));
  const problemOf = (delivery: DeliveryFacts): string | null => {
    const { statusChangeId, monitorId, event, channelId, payload } = delivery;
    const change = changes.get(statusChangeId);
    const frozen = change?.webhookEvents.find((one) => one.event === event);
    const monitor = evidence.monitors.find(({ id }) => id === monitorId);
    if (monitor === undefined || change?.monitorId !== monitorId || frozen === undefined)
      return 'is of no webhook event';
    const channel = evidence.channels.find(({ id }) => id === channelId);
    if (channel === undefined || mustReceive(channel, monitor, event, change.timestamp) === false)
      return 'goes to a channel that its monitor is not assigned to';
    return frozen.payload === payload ? null : `has ${payload} instead of ${frozen.payload}`;
  };
  return evidence.database.deliveries.flatMap((delivery) => {
    const problem = problemOf(delivery);
    return problem === null ? [] : [`${describe(evidence, delivery)} ${problem}`];
  });
}

function lostDeliveries(evidence: Evidence): string[] {
  const accepted = new Set(evidence.receipts.filter(isAccepted).map(({ id }) => id));
  return evidence.database.deliveries
    .filter(({ id, state }) => state === 'delivered' && !accepted.has(id))
    .map((delivery) => `${describe(evidence, delivery)} is delivered, but its receiver accepted nothing`);
}

function isAccepted({ status }: Receipt): boolean {
  return status !== null && status >= 200 && status < 300;
}

function hiddenDeliveries({ undelivered: { stored, shown } }: FaultRecord): string[] {
  const visible = new Set(shown);
  return stored
    .filter(({ id }) => !visible.has(id))
    .map(({ id }) => `delivery ${id} is undelivered, and the API does not show it`);
}

/** Receivers that respond with 200 get everything in the end. */
function undelivered(evidence: Evidence): string[] {
  const broken = new Set(evidence.channels.filter(({ plan }) => plan.kind === 'broken').map(({ id }) => id));
  return evidence.database.deliveries
    .filter(({ state, channelId }) => state !== 'delivered' && !broken.has(channelId))
    .map((one) => `${describe(evidence, one)} is ${one.state} after ${one.attemptCount} attempts`);
}

/** Only a 410 fails a delivery, only a disabled channel holds it, and no attempt is later than the schedule allows. */
function prematureFailures({ receipts, undelivered: { stored }, channels }: FaultRecord): string[] {
  const gone = new Set(receipts.filter(({ status }) => status === GONE).map(({ id }) => id));
  return stored.flatMap(({ id, channelId, state, attempts, dueInMs, isChannelEnabled }) => {
    const complainIf = (isWrong: boolean, problem: string): string[] =>
      isWrong ? [`delivery ${id} to ${keyOf(channels, channelId)} ${problem}`] : [];
    if (state === 'failed') return complainIf(!gone.has(id), 'failed without a 410');
    if (state === 'held') return complainIf(isChannelEnabled, 'is held for an enabled channel');
    if (dueInMs === null) return complainIf(true, 'is pending without a time');
    const maxMs = (DELAYS_SECONDS[attempts] ?? DELAYS_SECONDS.at(-1) ?? 0) * JITTER * 1_000;
    return complainIf(dueInMs > maxMs + 1, `is delayed by ${dueInMs} ms after ${attempts} attempts`);
  });
}

function lostRedeliveries({ redelivered, receipts }: FaultRecord): string[] {
  return redelivered
    .filter(({ id, since }) => !receipts.some((receipt) => receipt.id === id && receipt.at >= since))
    .map(({ id, since }) => `delivery ${id}, redelivered after ${iso(since)}, did not arrive`);
}

function unknownReceipts(evidence: Evidence): string[] {
  const find = deliveryFinder(evidence);
  const unknown = evidence.receipts.filter((receipt) => find(receipt) === null);
  return [
    ...evidence.strays.map((request) => `unknown request ${request}`),
    ...unknown.map(({ key, id }) => `${key} received ${id}, which is no delivery of its channel`),
  ];
}

function wrongAttempts(evidence: Evidence): string[] {
  const find = deliveryFinder(evidence);
  return evidence.receipts.flatMap((receipt) => {
    const { id, signedAt, signature, body } = receipt;
    const found = find(receipt);
    if (found === null) return [];
    const name = describe(evidence, found.delivery);
    const { payload } = found.delivery;
    if (body !== payload) return [`${name}: received ${body} instead of ${payload}`];
    const secret = Buffer.from(found.channel.secret.slice(SECRET_PREFIX.length), 'base64');
    const expected = createHmac('sha256', secret).update(`${id}.${signedAt}.${body}`).digest('base64');
    return signature.split(' ').includes(`v1,${expected}`) ? [] : [`${name}: the signature does not match`];
  });
}

/** Returns a function that finds the delivery of a receipt, or null if its channel has no such delivery. */
function deliveryFinder({
  database,
  channels,
}: Evidence): (receipt: Receipt) => { delivery: DeliveryFacts; channel: ChannelFacts } | null {
  const deliveries = new Map(database.deliveries.map((delivery) => [delivery.id, delivery]));
  return ({ id, key }) => {
    const [delivery, channel] = [deliveries.get(id), channels.find(({ plan }) => plan.key === key)];
    return delivery && channel && delivery.channelId === channel.id ? { delivery, channel } : null;
  };
}

function staleTimestamps({ receipts }: Evidence): string[] {
  return receipts
    .filter(({ at, signedAt }) => !(Math.abs(at - Number(signedAt) * 1_000) <= SIGNED_WITHIN_MS))
    .map(({ at, signedAt, key, address }) => {
      return `${key} received at ${iso(at)} from ${address} a webhook that is signed for ${signedAt}`;
    });
}

function unloggedAttempts(evidence: Evidence): string[] {
  return evidence.database.deliveries
    .filter(({ attempts, attemptCount }) => attempts !== attemptCount)
    .map((one) => `${describe(evidence, one)}: ${one.attemptCount} attempts, ${one.attempts} in the log`);
}

function describeBacklog(when: string, { undispatched, overdue }: Backlog): string[] {
  return [
    ...(undispatched === 0 ? [] : [`${undispatched} status changes have no deliveries ${when}`]),
    ...(overdue === 0 ? [] : [`${overdue} deliveries are overdue ${when}`]),
  ];
}

export function repeatedReceipts({ receipts }: Evidence): string[] {
  return [...groupBy(receipts, ({ id }) => id)]
    .filter(([, all]) => all.length > 1)
    .map(([id, all]) => `delivery ${id} was received ${all.length} times`);
}
