import { createHmac } from 'node:crypto';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import type {
  CampaignRecord,
  ChannelFacts,
  DeliveryFacts,
  EventFacts,
  MonitorFacts,
  StatusChangeFacts,
} from '../oracle/record.ts';
import type { MonitorPlan } from '../plan/plan-world.ts';
import type { Receipt } from '../world/receivers.ts';
import type { TargetAnswer } from '../world/targets.ts';

/** When the campaign of a test starts, epoch milliseconds. */
export const START = Date.UTC(2026, 0, 1);

const SECRET = Buffer.from('a secret of a channel').toString('base64');

export const MONITOR: MonitorFacts & { readonly plan: MonitorPlan } = {
  id: 'monitor-id',
  createdAt: START - 2_000,
  names: ['Shop'],
  thresholds: [],
  deletedAt: null,
  plan: {
    key: 'shop',
    failureThreshold: 1,
    intervalSeconds: 5,
    timeoutSeconds: 2,
    regions: ['north'],
    fate: 'kept',
    byName: true,
    turns: [
      { atMs: 0, state: 'up' },
      { atMs: 3_000, state: 'down' },
    ],
    finalState: 'up',
  },
};

export const CHANNEL: ChannelFacts = {
  id: 'channel-id',
  secret: `whsec_${SECRET}`,
  plan: { key: 'steady', kind: 'steady', monitors: null },
};

/** The check of the slot `second`, recorded 100 ms later. */
export function eventAt(second: number, up: boolean, fields: Partial<EventFacts> = {}): EventFacts {
  return {
    id: `event-${second}`,
    monitorId: MONITOR.id,
    timestamp: START + second * 1_000 + 100,
    status: up ? 'UP' : 'DOWN',
    statusCode: up ? 200 : 500,
    errorReason: up ? null : 'HTTP_500',
    latencyMs: 3,
    region: 'north',
    source: 'schedule',
    slot: START + second * 1_000,
    url: null,
    ...fields,
  };
}

export function answerAt(second: number, up: boolean): TargetAnswer {
  const at = START + second * 1_000 + 50;
  return { key: 'shop', address: '127.0.1.3', at, state: up ? 'up' : 'down', answeredAt: at };
}

/** What an event brings about, with its webhook events. */
function changeBy(event: EventFacts, from: MonitorStatus, to: 'UP' | 'DOWN'): StatusChangeFacts {
  const kinds =
    from === 'PENDING' && to === 'UP'
      ? []
      : to === 'DOWN'
        ? (['monitor.down', 'incident.created'] as const)
        : (['monitor.up', 'incident.resolved'] as const);
  return {
    id: `change-${event.id}`,
    monitorId: MONITOR.id,
    from,
    to,
    region: event.region,
    timestamp: event.timestamp + (kinds.length > 0 ? 1 : 0),
    channelIds: [CHANNEL.id],
    webhookEvents: kinds.map((kind, index) => ({
      event: kind,
      payload: JSON.stringify({
        event: kind,
        monitorId: MONITOR.id,
        monitorName: 'Shop',
        status: to,
        previousStatus: from,
        latency: event.latencyMs,
        errorReason: to === 'DOWN' ? event.errorReason : null,
        region: event.region,
        timestamp: new Date(event.timestamp + 1 + index).toISOString(),
        runbookUrl: null,
      }),
    })),
  };
}

function deliveriesOf(change: StatusChangeFacts): DeliveryFacts[] {
  return change.webhookEvents.map(({ event, payload }, index) => ({
    id: `delivery-${change.id}-${event}`,
    channelId: CHANNEL.id,
    statusChangeId: change.id,
    monitorId: change.monitorId,
    event,
    timestamp: change.timestamp + index,
    payload,
    state: 'delivered',
    attemptCount: 1,
    attempts: 1,
    createdAt: change.timestamp + 10,
  }));
}

/** A delivery as its receiver got it. */
function receiptOf(delivery: DeliveryFacts): Receipt {
  const signedAt = '1767225600';
  const signature = createHmac('sha256', Buffer.from(SECRET, 'base64'))
    .update(`${delivery.id}.${signedAt}.${delivery.payload}`)
    .digest('base64');
  return {
    at: delivery.createdAt,
    key: CHANNEL.plan.key,
    address: '127.0.1.6',
    id: delivery.id,
    signedAt,
    signature: `v1,${signature}`,
    body: delivery.payload,
    status: 200,
  };
}

/** A campaign of one monitor, which goes down and up again, without a flaw. */
export function goodRecord(): CampaignRecord {
  const course: [number, boolean][] = [
    [0, true],
    [5, false],
    [10, true],
    [15, true],
    [20, true],
  ];
  const events = course.map(([second, up]) => eventAt(second, up));
  const [first = eventAt(0, true), down = eventAt(5, false), up = eventAt(10, true)] = events;
  const statusChanges = [
    changeBy(first, 'PENDING', 'UP'),
    changeBy(down, 'UP', 'DOWN'),
    changeBy(up, 'DOWN', 'UP'),
  ];
  const deliveries = statusChanges.flatMap(deliveriesOf);
  return {
    seed: 1,
    minutes: 3,
    startedAt: START,
    lastFaultAt: START + 9_000,
    endedAt: START + 24_000,
    kinds: ['dns'],
    faults: [{ name: 'dns', victim: null, firedAt: START + 1_000, endedAt: START + 9_000, note: '' }],
    replicas: [
      { name: 'checker-north-1', service: 'checker', address: '127.0.1.3' },
      { name: 'notifier-1', service: 'notifier', address: '127.0.1.6' },
    ],
    monitors: [MONITOR],
    promised: [{ id: MONITOR.id, key: 'shop' }],
    channels: [CHANNEL],
    answers: course.map(([second, isUp]) => answerAt(second, isUp)),
    receipts: deliveries.map(receiptOf),
    strays: [],
    tails: new Map([[MONITOR.id, events.map(({ id }) => id)]]),
    shown: new Map([[MONITOR.id, 'UP']]),
    undelivered: { stored: [], shown: [] },
    leftAlone: { undispatched: 0, overdue: 0 },
    serviceTroubles: [],
    apiStatuses: new Map([[200, 10]]),
    database: {
      events,
      statusChanges,
      deliveries,
      incidents: [{ monitorId: MONITOR.id, openedAt: down.timestamp + 1, resolvedAt: up.timestamp + 1 }],
      backlog: { undispatched: 0, overdue: 0 },
      monitors: [{ id: MONITOR.id, name: 'Shop', failureThreshold: 1, status: 'UP' }],
    },
  };
}
