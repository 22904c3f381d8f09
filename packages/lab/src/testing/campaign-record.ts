import { createHmac } from 'node:crypto';
import type { MonitorStatus, WebhookEvent } from '@tocsin/contracts/vocabulary';
import type {
  FaultRecord,
  ChannelFacts,
  DatabaseFacts,
  DeliveryFacts,
  EventFacts,
  MonitorFacts,
  StatusChangeFacts,
} from '../oracle/record.ts';
import type { Receipt } from '../world/receivers.ts';
import type { TargetVisit } from '../world/targets.ts';

const START = Date.UTC(2026, 0, 1);
const SECRET = Buffer.from('a secret of a channel').toString('base64');

/** Returns a time of a campaign in epoch milliseconds. */
export function at(second: number): number {
  return START + second * 1_000;
}

export const MONITOR: MonitorFacts = {
  id: 'monitor-id',
  createdAt: at(-2),
  names: ['Shop'],
  thresholds: [],
  relabeled: [],
  deletedAt: null,
  plan: {
    key: 'shop',
    failureThreshold: 1,
    recoveryThreshold: 1,
    retryIntervalSeconds: null,
    intervalSeconds: 5,
    timeoutSeconds: 2,
    regions: ['north'],
    labels: { app: 'shop' },
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
  rescoped: [],
};

/** A check that is recorded 100 ms after its slot. */
export function eventAt(second: number, up: boolean, fields: Partial<EventFacts> = {}): EventFacts {
  return {
    id: `event-${second}`,
    monitorId: MONITOR.id,
    timestamp: at(second) + 100,
    status: up ? 'UP' : 'DOWN',
    inconclusive: false,
    statusCode: up ? 200 : 500,
    errorReason: up ? null : 'HTTP_500',
    latencyMs: 3,
    region: 'north',
    source: 'schedule',
    slot: at(second),
    url: null,
    ...fields,
  };
}

export function visitAt(second: number, up: boolean, fields: Partial<TargetVisit> = {}): TargetVisit {
  const time = at(second) + 50;
  const state = up ? 'up' : 'down';
  const addresses = { address: '127.0.1.3', client: '127.0.2.1' };
  return { key: 'shop', ...addresses, at: time, state, respondedAt: time, ...fields };
}

type Change = readonly [
  from: MonitorStatus,
  to: MonitorStatus,
  /** Slot of the check that causes or precedes the change. */
  second: number,
  webhookEvents: readonly WebhookEvent[],
  /** Epoch milliseconds. Defaults to right after the check. */
  timestamp?: number,
];

const DOWN: readonly WebhookEvent[] = ['monitor.down', 'incident.created'];
const UP: readonly WebhookEvent[] = ['monitor.up', 'incident.resolved'];

function statusChangeOf([from, to, second, kinds, changedAt]: Change): StatusChangeFacts {
  const timestamp = changedAt ?? at(second) + 100 + Math.min(1, kinds.length);
  const payload = {
    monitorId: MONITOR.id,
    monitorName: 'Shop',
    status: to,
    previousStatus: from,
    latency: to === 'MAINTENANCE' ? 0 : 3,
    errorReason: to === 'DOWN' ? 'HTTP_500' : null,
    region: 'north',
    runbookUrl: null,
  };
  const webhookEvents = kinds.map((event, index) => {
    const stamped = { ...payload, event, timestamp: new Date(timestamp + index).toISOString() };
    return { event, payload: JSON.stringify(stamped) };
  });
  const ids = { id: `change-${from}-${to}`, monitorId: MONITOR.id, channelIds: [CHANNEL.id] };
  return { ...ids, from, to, region: 'north', timestamp, webhookEvents };
}

function deliveriesOf({ id, monitorId, webhookEvents }: StatusChangeFacts): DeliveryFacts[] {
  return webhookEvents.map(({ event, payload }) => ({
    id: `delivery-${id}-${event}`,
    channelId: CHANNEL.id,
    statusChangeId: id,
    monitorId,
    event,
    payload,
    state: 'delivered',
    attemptCount: 1,
    attempts: 1,
  }));
}

function receiptOf({ id, payload }: DeliveryFacts): Receipt {
  const signedAt = String(START / 1_000);
  const signature = createHmac('sha256', Buffer.from(SECRET, 'base64'))
    .update(`${id}.${signedAt}.${payload}`)
    .digest('base64');
  return {
    at: Date.parse((JSON.parse(payload) as { timestamp: string }).timestamp) + 10,
    key: CHANNEL.plan.key,
    address: '127.0.1.6',
    id,
    signedAt,
    signature: `v1,${signature}`,
    body: payload,
    status: 200,
  };
}

/** The neighbor is checked, fails, and affects no other account. */
const NEIGHBOR: FaultRecord['neighbor'] = (['redirecting', 'silent', 'unreadable', 'poison'] as const).map(
  (kind) => ({
    id: `${kind}-0`,
    plan: { key: `${kind}-0`, kind, intervalSeconds: 30, timeoutSeconds: 30 },
    visits: kind === 'unreadable' ? [] : [visitAt(0, true, { key: `${kind}-0` })],
    eventTimestamps: kind === 'redirecting' || kind === 'silent' ? [START] : [],
    upEvents: 0,
    deliveries: 0,
  }),
);

/** Returns a campaign of one monitor without violations. @param checks one every five seconds, true if it passed */
function recordOf(checks: readonly boolean[], changes: readonly Change[]): FaultRecord {
  const events = checks.map((up, index) => eventAt(5 * index, up));
  const statusChanges = changes.map(statusChangeOf);
  const deliveries = statusChanges.flatMap(deliveriesOf);
  const changedTo = (status: MonitorStatus): number =>
    statusChanges.findLast(({ to }) => to === status)?.timestamp ?? 0;
  const passed = checks.filter((up) => up).length;
  const counts = { up: passed, down: checks.length - passed, inconclusive: 0 };
  return {
    campaign: 'faults',
    seed: 1,
    startedAt: START,
    lastFaultAt: at(9),
    endedAt: at(5 * checks.length - 1),
    kinds: ['dns-fail'],
    faults: [{ name: 'dns-fail', victim: null, firedAt: at(1), endedAt: at(9), note: '' }],
    replicas: [
      { name: 'checker-north-1', service: 'checker', region: 'north', address: '127.0.1.3' },
      { name: 'notifier-1', service: 'notifier', region: null, address: '127.0.1.6' },
    ],
    monitors: [MONITOR],
    neighbor: NEIGHBOR,
    neighborEvidence: {
      refusals: 3,
      hungLookups: new Map([['checker-north-1', 1]]),
      unreadable: new Map([['north', 1]]),
    },
    promised: [{ id: MONITOR.id, key: 'shop' }],
    channels: [CHANNEL],
    windows: [],
    redelivered: [],
    visits: checks.map((up, index) => visitAt(5 * index, up)),
    receipts: deliveries.map(receiptOf),
    strays: [],
    tails: new Map([[MONITOR.id, events.map(({ id }) => id)]]),
    scrapes: [
      {
        api: 'api-1',
        counters: new Map(Object.entries(counts).map(([key, n]) => [`${MONITOR.id} north ${key}`, n])),
      },
    ],
    shown: new Map([[MONITOR.id, 'UP']]),
    undelivered: { stored: [], shown: [] },
    backlogBeforeRedelivery: { undispatched: 0, overdue: 0 },
    serviceProblems: [],
    apiStatuses: new Map([[200, 10]]),
    database: {
      events,
      statusChanges,
      deliveries,
      incidents: [{ monitorId: MONITOR.id, openedAt: changedTo('DOWN'), resolvedAt: changedTo('UP') }],
      backlog: { undispatched: 0, overdue: 0 },
      missedWindows: [],
      monitors: [
        { id: MONITOR.id, name: 'Shop', failureThreshold: 1, status: 'UP', labels: { app: 'shop' } },
      ],
      channels: [{ id: CHANNEL.id, selector: null, matchedIds: [] }],
    },
  };
}

/** The monitor goes DOWN at 5 s and UP at 10 s, and is checked until 20 s. */
export const GOOD = recordOf(
  [true, false, true, true, true],
  [
    ['PENDING', 'UP', 0, []],
    ['UP', 'DOWN', 5, DOWN],
    ['DOWN', 'UP', 10, UP],
  ],
);

/** The monitor is in maintenance from 2 to 32 s, fails from 5 s on, is announced DOWN after maintenance, and recovers at 35 s. */
export const MAINTAINED: FaultRecord = {
  ...recordOf(
    [true, ...Array.from({ length: 6 }, () => false), true, true, true],
    [
      ['PENDING', 'UP', 0, []],
      ['UP', 'MAINTENANCE', 0, ['monitor.maintenance'], at(2.3)],
      ['MAINTENANCE', 'DOWN', 30, DOWN, at(32.3)],
      ['DOWN', 'UP', 35, UP],
    ],
  ),
  windows: [
    { key: 'planned', monitors: ['shop'], startsAt: at(2), endsAt: at(32), plannedAt: START, cut: null },
  ],
};

/** Changed fields and tables of a record. A table with the name of a field is in `database`. */
export interface RecordChange
  extends Omit<Partial<FaultRecord>, 'database'>, Omit<Partial<DatabaseFacts>, 'monitors' | 'channels'> {
  readonly database?: Partial<DatabaseFacts>;
}

export function changed(record: FaultRecord, { database, ...fields }: RecordChange): FaultRecord {
  const tables = Object.entries(fields).filter(([name]) => name in record.database && !(name in record));
  return {
    ...record,
    ...fields,
    database: { ...record.database, ...database, ...Object.fromEntries(tables) },
  };
}

/** Returns the items with the one at `index` changed. */
export function withOne<Item>(items: readonly Item[], index: number, change: (item: Item) => object): Item[] {
  return items.map((item, position) => (position === index ? { ...item, ...change(item) } : item));
}
