import { describe, expect, test } from '@jest/globals';
import type { NeighborKind } from '../load/world-plan.ts';
import {
  at,
  changed,
  CHANNEL,
  eventAt,
  GOOD,
  MONITOR,
  visitAt,
  withOne,
  type RecordChange,
} from '../testing/campaign-record.ts';
import { testViolations, type ViolationTable } from '../testing/violations.ts';
import { findViolations } from './find-violations.ts';
import type {
  ChannelFacts,
  DeliveryFacts,
  MonitorFacts,
  NeighborFacts,
  StatusChangeFacts,
  UndeliveredFacts,
} from './record.ts';

const { database, visits, receipts, replicas } = GOOD;
const { events, statusChanges, deliveries } = database;

const SHOP = { matchLabels: { app: 'shop' } };
const BLOG = { matchLabels: { app: 'blog' } };
const EDITED = { from: at(1), until: at(1.5) };
const IDS = events.map(({ id }) => id);
const COUNTER = `${MONITOR.id} north up`;

const outage = [25, 30, 35, 40, 45].map((second) => visitAt(second, false));
const withOutage: RecordChange = { visits: [...visits, ...outage] };

function withMonitor(fields: Partial<MonitorFacts>, plan: Partial<MonitorFacts['plan']> = {}): RecordChange {
  return { monitors: [{ ...MONITOR, ...fields, plan: { ...MONITOR.plan, ...plan } }] };
}

/** Changes the status change to DOWN. */
function withDown(fields: Partial<StatusChangeFacts>): RecordChange {
  return { statusChanges: withOne(statusChanges, 1, () => fields) };
}

/** Changes the payloads of the status change to DOWN. */
function withPayloads(change: (payload: string) => string): RecordChange {
  const webhookEvents = statusChanges[1]?.webhookEvents ?? [];
  return withDown({ webhookEvents: webhookEvents.map((one) => ({ ...one, payload: change(one.payload) })) });
}

function withDelivery(fields: Partial<DeliveryFacts>): RecordChange {
  return { deliveries: withOne(deliveries, 0, () => fields) };
}

function withChannel(
  fields: Partial<ChannelFacts['plan']>,
  rescoped: ChannelFacts['rescoped'] = [],
): RecordChange {
  return { channels: [{ ...CHANNEL, plan: { ...CHANNEL.plan, ...fields }, rescoped }] };
}

function withReceipt(change: Partial<(typeof receipts)[number]>): RecordChange {
  return { receipts: withOne(receipts, 0, () => change) };
}

/** A delivery whose second attempt is due in a few seconds. */
function withUndelivered(fields: Partial<UndeliveredFacts>, shown = ['late']): RecordChange {
  const pending = { id: 'late', channelId: CHANNEL.id, isChannelEnabled: true, attempts: 1 };
  const stored = [{ ...pending, state: 'pending', dueInMs: 4_000, ...fields }];
  return { undelivered: { stored, shown } };
}

function withNeighbor(kind: NeighborKind, fields: Partial<NeighborFacts>): RecordChange {
  return { neighbor: GOOD.neighbor.map((one) => (one.plan.kind === kind ? { ...one, ...fields } : one)) };
}

function withEvidence(fields: Partial<typeof GOOD.neighborEvidence>): RecordChange {
  return { neighborEvidence: { ...GOOD.neighborEvidence, ...fields } };
}

/** Scrapes of two apis with these counts of passed checks. */
function withCounts(...counts: readonly number[]): RecordChange {
  const [scrape] = GOOD.scrapes;
  const countersOf = (count: number): Map<string, number> =>
    new Map([...(scrape?.counters ?? []), [COUNTER, count]]);
  return {
    scrapes: counts.map((count, index) => ({ api: `api-${index % 2}`, counters: countersOf(count) })),
  };
}

test('a good campaign has no violations', () => {
  expect(findViolations(GOOD)).toEqual([]);
});

const VIOLATIONS: ViolationTable<RecordChange> = {
  'every kind of fault is fired': {
    'dns-fail was not: late': { faults: withOne(GOOD.faults, 0, () => ({ firedAt: null, note: 'late' })) },
  },
  'the campaign has alerts to lose': {
    '0 of 1 monitors were DOWN': { statusChanges: statusChanges.slice(0, 1) },
    'shop never changed its status': { statusChanges: [] },
    'steady received nothing': { receipts: [] },
  },
  'services recover by themselves': {
    'api-1 ended by itself with 1': { serviceProblems: ['api-1 ended by itself with 1'] },
    // Another notifier hides that it is idle.
    'notifier-2 did nothing after the last fault': {
      replicas: replicas.flatMap((one) => [one, { ...one, name: 'notifier-2', address: '127.0.1.7' }]),
    },
  },
  'the API responds with no 5xx but 503 and 504': {
    '2 responses had status 500': { apiStatuses: new Map([[500, 2]]) },
  },
  'accepted changes are kept': {
    'an api created shop as lost, which was lost': { promised: [{ id: 'lost', key: 'shop' }] },
    'shop was created, but does not exist': { database: { monitors: [] } },
    'shop is called Shop, …, not New shop, …': withMonitor({ names: ['Shop', 'New shop'] }),
    'shop was deleted, but exists': withMonitor({ deletedAt: at(1) }),
    'unknown monitor monitor-id': { monitors: [] },
  },
  'deleted monitors are not checked': {
    'shop was deleted … checked 1 times after …': {
      ...withMonitor({ deletedAt: at(1) }),
      visits: [...visits, visitAt(30, true)],
    },
  },
  // The tables are consistent, as if nothing had happened.
  'lasting responses of a target are seen': {
    'shop: 5 responses that mean DOWN, from …:25.050Z to …:45.050Z, show …': withOutage,
  },
  'every event has a request': {
    // One request explains one event.
    '…: no request explains the event 500 of …:06.100Z': {
      events: [...events, eventAt(6, false, { slot: null })],
    },
    // An old result was recorded again.
    'shop: no request explains the event 200 of …:02:40.100Z': {
      events: [...events, eventAt(160, true)],
      visits: [...visits, visitAt(21, true)],
    },
  },
  'a slot is recorded once': {
    'event event-21 repeats the slot …:20.000Z of …': {
      events: [...events, eventAt(21, true, { slot: at(20) })],
    },
  },
  'no monitor stays unchecked': {
    'shop (every 5 s) had no check from north for 21 s after …': { endedAt: at(41) },
    // Checks that reach no target do not count.
    'shop (…) had no check …': {
      events: events.map((event) => ({ ...event, statusCode: null })),
      endedAt: at(30),
    },
  },
  'tailing misses and repeats nothing': {
    '… 1 missing, 0 repeated': { tails: new Map([[MONITOR.id, IDS.slice(1)]]) },
    '… 0 missing, 1 repeated': { tails: new Map([[MONITOR.id, [...IDS, ...IDS.slice(0, 1)]]]) },
  },
  'statuses follow from events': {
    'shop: change 3 should be UP to DOWN at …, and is none': {
      events: withOne(events, 3, () => eventAt(15, false)),
    },
    'shop: change 1 does not continue …': { statusChanges: statusChanges.filter((_, index) => index !== 1) },
    // The threshold was 2 from the failure on.
    'shop: change 1 should be none, …': withMonitor({ thresholds: [{ at: at(5), value: 2 }] }),
  },
  'each status change has its webhook events': {
    '… has monitor.down instead of monitor.down,incident.created': withDown({
      webhookEvents: statusChanges[1]?.webhookEvents.slice(0, 1) ?? [],
    }),
    'shop: … has a wrong payload of monitor.down: …': withPayloads((text) => text.replace('"DOWN"', '"UP"')),
    '… has a timestamp that is not later than …': withPayloads((text) => text.replace(/05\.10\d/, '05.101')),
  },
  'payloads follow from events': {
    '… event 0 should be …HTTP_500… and is …TIMEOUT…': withPayloads((text) =>
      text.replace('HTTP_500', 'TIMEOUT'),
    ),
  },
  'one incident for each outage': {
    'shop has an incident from … until now, and was not DOWN then': {
      incidents: database.incidents.map((one) => ({ ...one, resolvedAt: null })),
    },
    'shop was DOWN from … to …, without an incident': { incidents: [] },
    'shop is DOWN, and its last change was to UP': {
      database: { monitors: withOne(database.monitors, 0, () => ({ status: 'DOWN' })) },
    },
  },
  'each monitor shows the state of its target': {
    'shop: … the API shows DOWN': { shown: new Map([[MONITOR.id, 'DOWN']]) },
  },
  'each webhook event goes to each channel': {
    '… has no delivery of monitor.down to steady': { deliveries: deliveries.slice(1) },
    'shop: … does not name channel steady': withDown({ channelIds: [] }),
  },
  'each delivery belongs to its channel': {
    'monitor.down of shop … has …incident.created… instead of …': withDelivery({
      payload: deliveries[1]?.payload ?? '',
    }),
    '… goes to a channel that its monitor is not assigned to': withChannel({ monitors: ['other'] }),
    'monitor.up of shop … is of no webhook event': { statusChanges: statusChanges.slice(0, 2) },
  },
  'each delivery is received or visible as undelivered': {
    '… is delivered, but its receiver accepted nothing': withReceipt({ status: 500 }),
    'delivery late is undelivered, and the API does not show it': withUndelivered({}, []),
  },
  'no delivery fails or is delayed too early': {
    'delivery late to steady failed without a 410': withUndelivered({ state: 'failed', dueInMs: null }),
    '… is held for an enabled channel': withUndelivered({ state: 'held', dueInMs: null }),
    '… is delayed by 3600000 ms after 1 attempts': withUndelivered({ dueInMs: 3_600_000 }),
    '… is pending without a time': withUndelivered({ dueInMs: null }),
  },
  'redeliveries are received': {
    '… redelivered after …, did not arrive': {
      redelivered: [{ id: receipts[0]?.id ?? '', since: at(20) }],
    },
  },
  'everything is delivered in the end': {
    '… is pending after 1 attempts': withDelivery({ state: 'pending' }),
  },
  'nothing is received that is not stored': {
    'steady received made up, which is no delivery of its channel': withReceipt({ id: 'made up' }),
    'unknown request POST /elsewhere': { strays: ['POST /elsewhere'] },
  },
  'every attempt has the stored bytes and a valid signature': {
    '… was received as other instead of …': withReceipt({ body: 'other' }),
    '… has a signature that does not match': withReceipt({ signature: 'v1,abc' }),
  },
  'every attempt has a current timestamp': {
    'steady received at … a webhook that is signed for 1767225600': withReceipt({ at: at(305.2) }),
  },
  'every attempt is in the log': { '… has 2 attempts, 1 in the log': withDelivery({ attemptCount: 2 }) },
  'the outbox empties': {
    '1 status changes have no deliveries …': { backlog: { undispatched: 1, overdue: 0 } },
    // They needed a manual redelivery.
    '3 deliveries are overdue before …': { backlogBeforeRedelivery: { undispatched: 1, overdue: 3 } },
  },
  'each confirmed label and selector is stored': {
    'shop has … instead of {"app":"blog"}': withMonitor({
      relabeled: [{ ...EDITED, value: { app: 'blog' } }],
    }),
    'steady has null instead of …': withChannel({}, [{ ...EDITED, value: { selector: SHOP, events: null } }]),
  },
  'each selector has the monitors that it matches': {
    '… does not have Shop, which its selector matches': {
      database: { channels: [{ id: CHANNEL.id, selector: SHOP, matchedIds: [] }] },
    },
    '… has Shop, which its selector does not match': {
      database: { channels: [{ id: CHANNEL.id, selector: BLOG, matchedIds: [MONITOR.id] }] },
    },
  },
  'counters of checks never decrease': {
    [`${COUNTER}: 3 from api-0, then 2 from api-1`]: withCounts(3, 2, 4, 4),
  },
  'counters of checks equal the events': {
    [`shop: 3 from api-0 for 4 events (${COUNTER})`]: withCounts(0, 4, 3),
    'nothing was scraped': { scrapes: [] },
  },
  'the neighbor affects no other account': {
    'unreadable-0 was checked 5 times without its headers': withNeighbor('unreadable', { visits }),
    'poison-0 has 1 events that Postgres refused': withNeighbor('poison', { eventTimestamps: [at(0)] }),
    'poison-0 was never checked': withNeighbor('poison', { visits: [] }),
    'silent-0 was UP 2 times, although …': withNeighbor('silent', { upEvents: 2 }),
    'silent-0 had no check for 76 s after …:09.000Z': { endedAt: at(85) },
    'redirecting-0 was never checked': withNeighbor('redirecting', { eventTimestamps: [] }),
    'redirecting-0 has deliveries to …': withNeighbor('redirecting', { deliveries: 1 }),
    'silent-0 is shown to another account': { shown: new Map([['silent-0', 'DOWN']]) },
    'checker-north-1 did not check all kinds of its monitors': withNeighbor('redirecting', { visits: [] }),
    'Postgres refused none of its results': withEvidence({ refusals: 0 }),
    'checker-north-1 looked up no name that hangs': withEvidence({ hungLookups: new Map() }),
    'no checker of north skipped …': withEvidence({ unreadable: new Map([['south', 1]]) }),
  },
};

testViolations(VIOLATIONS, (change) => findViolations(changed(GOOD, change)));

const RESET = { statusCode: null, errorReason: 'UNKNOWN_ERROR' } as const;
const SECONDS = [25, 30, 35];
/** Failures that their target reset, each with its request. */
const resets: RecordChange = {
  events: [...events, ...SECONDS.map((second) => eventAt(second, false, RESET))],
  visits: [
    ...visits,
    ...SECONDS.map((second) => visitAt(second, false, { state: 'reset', respondedAt: null })),
  ],
};
const HELD = withUndelivered({ state: 'held', dueInMs: null, isChannelEnabled: false });
const GONE = {
  ...withUndelivered({ state: 'failed', dueInMs: null }),
  ...withReceipt({ id: 'late', status: 410 }),
};

const NO_5XX = 'the API responds with no 5xx but 503 and 504';
const SEEN = 'lasting responses of a target are seen';
const STATUSES = 'statuses follow from events';
const NOT_EARLY = 'no delivery fails or is delayed too early';

test.each<[invariant: string, name: string, RecordChange]>([
  [NO_5XX, 'a 503 and a 504', { apiStatuses: new Map([503, 504].map((status) => [status, 1])) }],
  [SEEN, 'the loss of a few results', { visits: [...visits, ...outage.slice(2)] }],
  [SEEN, 'a deletion right after the responses', { ...withMonitor({ deletedAt: at(46) }), ...withOutage }],
  [
    'accepted changes are kept',
    'a deletion',
    { ...withMonitor({ deletedAt: at(1) }), database: { monitors: [] } },
  ],
  ['no monitor stays unchecked', 'connections that the target reset', { ...resets, endedAt: at(41) }],
  [
    STATUSES,
    'a check of another URL',
    { events: [...events, eventAt(12, false, { url: 'http://elsewhere' })] },
  ],
  [
    STATUSES,
    'a failure that arrives after the result of a later slot',
    { events: [...events, eventAt(12, false, { timestamp: at(18) })] },
  ],
  [STATUSES, 'an edit just before an event', withMonitor({ thresholds: [{ at: at(5.095), value: 2 }] })],
  [NOT_EARLY, 'a scheduled retry', withUndelivered({})],
  [NOT_EARLY, 'a delivery that is held for a disabled channel', HELD],
  [NOT_EARLY, 'a delivery that was refused with 410', GONE],
  ['counters of checks equal the events', 'counters that rise to the end', withCounts(0, 2, 4, 4)],
  ['counters of checks never decrease', 'counters that do not change', withCounts(0, 2, 4, 4)],
])('%s: tolerates %s', (invariant, _name, change) => {
  const found = findViolations(changed(GOOD, change));
  expect(found.filter((one) => one.invariant === invariant)).toEqual([]);
});

describe('a check of 60 s that timed out', () => {
  const timeout = eventAt(60, false, { timestamp: at(62), statusCode: null, errorReason: 'TIMEOUT' });

  function visited(time: number, respondedAt: number | null): RecordChange {
    return { visits: [...visits, visitAt(time, true, { respondedAt })] };
  }

  /** A fault that began at 40 s. */
  function during(name: string, victim: string | null, until: number): RecordChange {
    return { faults: [{ name, victim, firedAt: at(40), endedAt: at(until), note: '' }] };
  }

  const frozen = 'stop-checker-probing';
  const byAddress = withMonitor({}, { byName: false });
  test.each<[string, boolean, RecordChange]>([
    ['a target that responded at once', false, visited(60, at(60.1))],
    ['a target that hung before', false, visited(55, null)],
    ['a target that hung', true, visited(60, null)],
    ['a response that a fault delayed', true, visited(60, at(63))],
    ['names that failed until shortly before', true, during('dns-hang', null, 46)],
    ['names that failed long before', false, during('dns-hang', null, 44)],
    [
      'names that failed, and a URL with an address',
      false,
      { ...during('dns-fail', null, 60), ...byAddress },
    ],
    ['a checker of its region that was frozen', true, during(frozen, 'checker-north-1', 56)],
    ['a checker of another region that was frozen', false, during(frozen, 'checker-south-1', 60)],
  ])('and %s: its cause is known: %s', (_, isExplained, change) => {
    const found = findViolations(changed(GOOD, { events: [...events, timeout], ...change }));
    const details = found.filter(({ invariant }) => invariant === 'every failure has a cause');
    const detail = expect.stringMatching(/^shop: TIMEOUT from north at .*:02.000Z, which neither its target/);
    expect(details.map((violation) => violation.detail)).toEqual(isExplained ? [] : [detail]);
  });
});
