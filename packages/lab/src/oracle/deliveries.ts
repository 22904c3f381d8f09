import { createHmac } from 'node:crypto';
import { mustReceive } from './assignments.ts';
import { groupBy, iso, webhooksOf, type Webhook } from './history.ts';
import type { Backlog, Check, Evidence, FaultRecord } from './record.ts';

const SECRET_PREFIX = 'whsec_';
const GONE = 410;
/** Delay before the next attempt in seconds, by the number of attempts (docs/concepts/delivery.md). */
const DELAYS_SECONDS = [0, 5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800];
const JITTER = 1.2;
/** Receivers reject a `webhook-timestamp` that differs more from their own clock (Standard Webhooks). */
const SIGNED_WITHIN_MS = 5 * 60_000;

export const DELIVERY_CHECKS: readonly Check<Evidence>[] = [
  ['each webhook event goes to each channel', missingDeliveries],
  ['each delivery belongs to its channel', wrongWebhooks(strayDelivery)],
  ['each delivery is received or visible as undelivered', wrongWebhooks(lostDelivery)],
  ['everything is delivered in the end', wrongWebhooks(undelivered)],
  ['nothing is received that is not stored', unknownReceipts],
  ['every attempt has the stored bytes and a valid signature', wrongWebhooks(wrongAttempt)],
  ['every attempt has a current timestamp', staleTimestamps],
  ['every attempt is in the log', wrongWebhooks(unloggedAttempt)],
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

/** @param problemOf describes what is wrong with a delivery, or returns null */
function wrongWebhooks(problemOf: (webhook: Webhook) => string | null): (evidence: Evidence) => string[] {
  return (evidence) =>
    webhooksOf(evidence).flatMap((webhook) => {
      const { delivery, monitor, channel } = webhook;
      const problem = problemOf(webhook);
      if (problem === null) return [];
      const assignment = `${delivery.event} of ${monitor?.plan.key} to ${channel?.plan.key}`;
      return [`${assignment} (delivery ${delivery.id}) ${problem}`];
    });
}

/** Deliveries to a disabled channel are held, so they exist as well. */
function missingDeliveries({ database, monitors, channels }: Evidence): string[] {
  const made = new Set(
    database.deliveries.map((one) => `${one.statusChangeId} ${one.event} ${one.channelId}`),
  );
  const monitorOf = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  return database.statusChanges.flatMap(({ id, monitorId, webhookEvents, channelIds, timestamp }) => {
    const monitor = monitorOf.get(monitorId);
    if (monitor === undefined) return [];
    const problems = channels.flatMap((channel) => {
      const due = webhookEvents.filter(({ event }) => mustReceive(channel, monitor, event, timestamp));
      const missing = due.filter(({ event }) => !made.has(`${id} ${event} ${channel.id}`));
      const isNamed = due.length === 0 || channelIds.includes(channel.id);
      return [
        ...missing.map(({ event }) => `has no delivery of ${event} to ${channel.plan.key}`),
        ...(isNamed ? [] : [`does not name channel ${channel.plan.key}`]),
      ];
    });
    return problems.map((problem) => `${monitor.plan.key}: status change ${id} ${problem}`);
  });
}

/** Each delivery belongs to a webhook event, has its frozen payload, and goes to a channel that may receive it. */
function strayDelivery({ delivery: { event, payload, monitorId }, ...webhook }: Webhook): string | null {
  const { monitor, channel, change } = webhook;
  const frozen = change?.webhookEvents.find((one) => one.event === event);
  if (monitor === undefined || change?.monitorId !== monitorId || frozen === undefined)
    return 'is of no webhook event';
  if (channel === undefined || mustReceive(channel, monitor, event, change.timestamp) === false)
    return 'goes to a channel that its monitor is not assigned to';
  return frozen.payload === payload ? null : `has ${payload} instead of ${frozen.payload}`;
}

function lostDelivery({ delivery: { state }, receipts }: Webhook): string | null {
  const isAccepted = receipts.some(({ status }) => status !== null && status >= 200 && status < 300);
  return state !== 'delivered' || isAccepted ? null : 'is delivered, but its receiver accepted nothing';
}

/** Receivers that respond with 200 get everything in the end. */
function undelivered({ delivery: { state, attemptCount }, channel }: Webhook): string | null {
  const isDone = state === 'delivered' || channel?.plan.kind === 'broken';
  return isDone ? null : `is ${state} after ${attemptCount} attempts`;
}

function wrongAttempt({ delivery: { payload }, channel, receipts }: Webhook): string | null {
  const secret = Buffer.from(channel?.secret.slice(SECRET_PREFIX.length) ?? '', 'base64');
  for (const { id, signedAt, signature, body } of receipts) {
    if (body !== payload) return `was received as ${body} instead of ${payload}`;
    const expected = createHmac('sha256', secret).update(`${id}.${signedAt}.${body}`).digest('base64');
    if (!signature.split(' ').includes(`v1,${expected}`)) return 'has a signature that does not match';
  }
  return null;
}

function unloggedAttempt({ delivery: { attempts, attemptCount } }: Webhook): string | null {
  return attempts === attemptCount ? null : `has ${attemptCount} attempts, ${attempts} in the log`;
}

function unknownReceipts(evidence: Evidence): string[] {
  const known = new Set(webhooksOf(evidence).flatMap(({ receipts }) => receipts));
  const unknown = evidence.receipts.filter((receipt) => !known.has(receipt));
  return [
    ...evidence.strays.map((request) => `unknown request ${request}`),
    ...unknown.map(({ key, id }) => `${key} received ${id}, which is no delivery of its channel`),
  ];
}

function staleTimestamps({ receipts }: Evidence): string[] {
  return receipts
    .filter(({ at, signedAt }) => !(Math.abs(at - Number(signedAt) * 1_000) <= SIGNED_WITHIN_MS))
    .map(({ at, signedAt, key, address }) => {
      return `${key} received at ${iso(at)} from ${address} a webhook that is signed for ${signedAt}`;
    });
}

function describeBacklog(when: string, { undispatched, overdue }: Backlog): string[] {
  return [
    ...(undispatched === 0 ? [] : [`${undispatched} status changes have no deliveries ${when}`]),
    ...(overdue === 0 ? [] : [`${overdue} deliveries are overdue ${when}`]),
  ];
}

function hiddenDeliveries({ undelivered: { stored, shown } }: FaultRecord): string[] {
  return stored
    .filter(({ id }) => !shown.includes(id))
    .map(({ id }) => `delivery ${id} is undelivered, and the API does not show it`);
}

/** Only a 410 fails a delivery, only a disabled channel holds it, and no attempt is later than the schedule allows. */
function prematureFailures({ receipts, undelivered: { stored }, channels }: FaultRecord): string[] {
  const gone = new Set(receipts.filter(({ status }) => status === GONE).map(({ id }) => id));
  const problemOf = (delivery: (typeof stored)[number]): string | null => {
    const { id, state, attempts, dueInMs, isChannelEnabled } = delivery;
    if (state === 'failed') return gone.has(id) ? null : 'failed without a 410';
    if (state === 'held') return isChannelEnabled ? 'is held for an enabled channel' : null;
    if (dueInMs === null) return 'is pending without a time';
    const maxMs = (DELAYS_SECONDS[attempts] ?? DELAYS_SECONDS.at(-1) ?? 0) * JITTER * 1_000;
    return dueInMs <= maxMs + 1 ? null : `is delayed by ${dueInMs} ms after ${attempts} attempts`;
  };
  return stored.flatMap((delivery) => {
    const problem = problemOf(delivery);
    const key = channels.find(({ id }) => id === delivery.channelId)?.plan.key;
    return problem === null ? [] : [`delivery ${delivery.id} to ${key} ${problem}`];
  });
}

function lostRedeliveries({ redelivered, receipts }: FaultRecord): string[] {
  return redelivered
    .filter(({ id, since }) => !receipts.some((receipt) => receipt.id === id && receipt.at >= since))
    .map(({ id, since }) => `delivery ${id}, redelivered after ${iso(since)}, did not arrive`);
}

export function repeatedReceipts({ receipts }: Evidence): string[] {
  return [...groupBy(receipts, ({ id }) => id)]
    .filter(([, all]) => all.length > 1)
    .map(([id, all]) => `delivery ${id} was received ${all.length} times`);
}
