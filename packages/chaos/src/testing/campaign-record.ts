import { createHmac } from 'node:crypto';
import type { MonitorStatus, WebhookEvent } from '@tocsin/contracts/vocabulary';
import type {
  CampaignRecord,
  ChannelFacts,
  DatabaseFacts,
  DeliveryFacts,
  EventFacts,
  MonitorFacts,
  NeighborFacts,
  StatusChangeFacts,
} from '../oracle/record.ts';
import { findViolations } from '../oracle/find-violations.ts';
import type { MonitorPlan } from '../plan/world.ts';
import type { Receipt } from '../world/receivers.ts';
import type { TargetVisit } from '../world/targets.ts';

/** When the campaign of a test starts, epoch milliseconds. */
export const START = Date.UTC(2026, 0, 1);

const SECRET = Buffer.from('a secret of a channel').toString('base64');

export const MONITOR: MonitorFacts & { readonly plan: MonitorPlan } = {
  id: 'monitor-id',
  createdAt: START - 2_000,
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

/** The check of the slot `second`, recorded 100 ms later. */
export function eventAt(second: number, up: boolean, fields: Partial<EventFacts> = {}): EventFacts {
  return {
    id: `event-${second}`,
    monitorId: MONITOR.id,
    timestamp: START + second * 1_000 + 100,
    status: up ? 'UP' : 'DOWN',
    inconclusive: false,
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

export function visitAt(second: number, up: boolean): TargetVisit {
  const at = START + second * 1_000 + 50;
  return { key: 'shop', address: '127.0.1.3', at, state: up ? 'up' : 'down', respondedAt: at };
}

/** The status change that an event causes, with its webhook events. */
function changeBy(event: EventFacts, from: MonitorStatus, to: 'UP' | 'DOWN'): StatusChangeFacts {
  const kinds: readonly WebhookEvent[] =
    to === 'DOWN'
      ? ['monitor.down', 'incident.created']
      : from === 'PENDING'
        ? []
        : ['monitor.up', 'incident.resolved'];
  return changeOf(event, from, to, kinds, event.timestamp + (kinds.length > 0 ? 1 : 0));
}

/** A status change with the facts of a check. */
function changeOf(
  check: Pick<EventFacts, 'id' | 'latencyMs' | 'errorReason' | 'region'>,
  from: MonitorStatus,
  to: MonitorStatus,
  kinds: readonly WebhookEvent[],
  timestamp: number,
): StatusChangeFacts {
  return {
    id: `change-${to}-${check.id}`,
    monitorId: MONITOR.id,
    from,
    to,
    region: check.region,
    timestamp,
    channelIds: [CHANNEL.id],
    webhookEvents: kinds.map((kind, index) => ({
      event: kind,
      payload: JSON.stringify({
        event: kind,
        monitorId: MONITOR.id,
        monitorName: 'Shop',
        status: to,
        previousStatus: from,
        latency: check.latencyMs,
        errorReason: to === 'DOWN' ? check.errorReason : null,
        region: check.region,
        timestamp: new Date(timestamp + index).toISOString(),
        runbookUrl: null,
      }),
    })),
  };
}

function deliveriesOf(change: StatusChangeFacts): DeliveryFacts[] {
  return change.webhookEvents.map(({ event, payload }) => ({
    id: `delivery-${change.id}-${event}`,
    channelId: CHANNEL.id,
    statusChangeId: change.id,
    monitorId: change.monitorId,
    event,
    payload,
    state: 'delivered',
    attemptCount: 1,
    attempts: 1,
  }));
}

/** A delivery as its receiver received it. */
function receiptOf(delivery: DeliveryFacts): Receipt {
  const signedAt = '1767225600';
  const signature = createHmac('sha256', Buffer.from(SECRET, 'base64'))
    .update(`${delivery.id}.${signedAt}.${delivery.payload}`)
    .digest('base64');
  return {
    at: Date.parse((JSON.parse(delivery.payload) as { timestamp: string }).timestamp) + 10,
    key: CHANNEL.plan.key,
    address: '127.0.1.6',
    id: delivery.id,
    signedAt,
    signature: `v1,${signature}`,
    body: delivery.payload,
    status: 200,
  };
}

/** A campaign of one monitor, which goes down and up again, without a violation. */
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
  return recordOf(
    events,
    [changeBy(first, 'PENDING', 'UP'), changeBy(down, 'UP', 'DOWN'), changeBy(up, 'DOWN', 'UP')],
    { openedAt: down.timestamp + 1, resolvedAt: up.timestamp + 1 },
  );
}

/** The time during which the monitor of `maintainedRecord` is in maintenance, epoch milliseconds. */
export const MAINTAINED = { startsAt: START + 2_000, endsAt: START + 32_000 };

/** A campaign of one monitor that fails during maintenance, is announced DOWN at its end, and recovers, without a violation. */
export function maintainedRecord(): CampaignRecord {
  const seconds = Array.from({ length: 10 }, (_, index) => index * 5);
  const events = seconds.map((second) => eventAt(second, second === 0 || second >= 35));
  const [first = eventAt(0, true)] = events;
  const up = events.find(({ slot }) => slot === START + 35_000) ?? first;
  const last = events.findLast(({ status }) => status === 'DOWN') ?? first;
  const entry = { id: 'entry', latencyMs: 0, errorReason: null, region: 'north' };
  const leftAt = MAINTAINED.endsAt + 300;
  const record = recordOf(
    events,
    [
      changeBy(first, 'PENDING', 'UP'),
      changeOf(entry, 'UP', 'MAINTENANCE', ['monitor.maintenance'], MAINTAINED.startsAt + 300),
      changeOf(last, 'MAINTENANCE', 'DOWN', ['monitor.down', 'incident.created'], leftAt),
      changeBy(up, 'DOWN', 'UP'),
    ],
    { openedAt: leftAt, resolvedAt: up.timestamp + 1 },
  );
  const window = { key: 'planned', monitors: [MONITOR.plan.key], ...MAINTAINED };
  return { ...record, windows: [{ ...window, plannedAt: START, cut: null }] };
}

/** A neighbor that is checked, fails, and affects no other account. */
function goodNeighbor(): NeighborFacts[] {
  return (['redirecting', 'silent', 'unreadable', 'poison'] as const).map((kind) => {
    const key = `${kind}-0`;
    const isVisited = kind !== 'unreadable';
    const isRecorded = kind === 'redirecting' || kind === 'silent';
    const plan = { key, kind, intervalSeconds: 30, timeoutSeconds: 30 };
    return {
      id: key,
      plan,
      visits: isVisited ? [{ ...visitAt(0, true), key }] : [],
      eventTimestamps: isRecorded ? [START] : [],
      upEvents: 0,
      deliveries: 0,
    };
  });
}

function countersOf(events: readonly EventFacts[]): Map<string, number> {
  const count = (status: string): number => events.filter((event) => event.status === status).length;
  const counts = { up: count('UP'), down: count('DOWN'), inconclusive: 0 };
  return new Map(Object.entries(counts).map(([result, value]) => [`${MONITOR.id} north ${result}`, value]));
}

function recordOf(
  events: readonly EventFacts[],
  statusChanges: readonly StatusChangeFacts[],
  incident: { openedAt: number; resolvedAt: number },
): CampaignRecord {
  const deliveries = statusChanges.flatMap(deliveriesOf);
  return {
    seed: 1,
    minutes: 3,
    startedAt: START,
    lastFaultAt: START + 9_000,
    endedAt: (events.at(-1)?.slot ?? START) + 4_000,
    kinds: ['dns-fail'],
    faults: [{ name: 'dns-fail', victim: null, firedAt: START + 1_000, endedAt: START + 9_000, note: '' }],
    replicas: [
      { name: 'checker-north-1', service: 'checker', region: 'north', address: '127.0.1.3' },
      { name: 'notifier-1', service: 'notifier', region: null, address: '127.0.1.6' },
    ],
    monitors: [MONITOR],
    neighbor: goodNeighbor(),
    neighborEvidence: {
      refusals: 3,
      hungLookups: new Map([['checker-north-1', 1]]),
      unreadable: new Map([['north', 1]]),
    },
    promised: [{ id: MONITOR.id, key: 'shop' }],
    channels: [CHANNEL],
    windows: [],
    redelivered: [],
    visits: events.map(({ slot, status }) => visitAt(((slot ?? START) - START) / 1_000, status === 'UP')),
    receipts: deliveries.map(receiptOf),
    strays: [],
    tails: new Map([[MONITOR.id, events.map(({ id }) => id)]]),
    scrapes: [{ api: 'api-1', counters: countersOf(events) }],
    shown: new Map([[MONITOR.id, 'UP']]),
    undelivered: { stored: [], shown: [] },
    backlogBeforeRedelivery: { undispatched: 0, overdue: 0 },
    serviceProblems: [],
    apiStatuses: new Map([[200, 10]]),
    database: {
      events,
      statusChanges,
      deliveries,
      incidents: [{ monitorId: MONITOR.id, ...incident }],
      backlog: { undispatched: 0, overdue: 0 },
      missedWindows: [],
      monitors: [
        { id: MONITOR.id, name: 'Shop', failureThreshold: 1, status: 'UP', labels: { app: 'shop' } },
      ],
      channels: [{ id: CHANNEL.id, selector: null, matchedIds: [] }],
    },
  };
}

/** The good record with changed content of Postgres. */
export function withDatabase(changed: Partial<DatabaseFacts>): CampaignRecord {
  const good = goodRecord();
  return { ...good, database: { ...good.database, ...changed } };
}

/** The items with the one at `index` changed. */
export function withOne<Item>(items: readonly Item[], index: number, change: (item: Item) => Item): Item[] {
  return items.map((item, position) => (position === index ? change(item) : item));
}

/** The violations of an invariant. */
export function detailsOf(record: CampaignRecord, invariant: string): string[] {
  const found = findViolations(record).filter((violation) => violation.invariant === invariant);
  return found.map(({ detail }) => detail);
}
