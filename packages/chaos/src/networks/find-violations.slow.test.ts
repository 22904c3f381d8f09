import { expect, test } from '@jest/globals';
import { at } from '../testing/campaign-record.ts';
import { testViolations, type ViolationTable } from '../testing/violations.ts';
import { findNetworkViolations } from './find-violations.ts';
import type { CheckFacts, NetworkMonitor, NetworkRecord } from './record.ts';

type Change = NetworkRecord['changes'][number];

const region = 'r1';

function monitor(key: string, fields: Partial<NetworkMonitor> = {}): NetworkRecord['monitors'][number] {
  return {
    id: `${key}-id`,
    key,
    isCanary: false,
    sleeps: false,
    regions: [region],
    intervalSeconds: 5,
    timeoutSeconds: 2,
    failureThreshold: 1,
    recoveryThreshold: 1,
    retryInterval: null,
    byName: false,
    outages: [],
    ...fields,
  };
}

function change(key: string, to: 'UP' | 'DOWN', second: number): Change {
  const from = to === 'UP' ? 'DOWN' : 'UP';
  return { monitorId: `${key}-id`, from, to, region, timestamp: at(second) };
}

function shop(to: 'UP' | 'DOWN', second: number): Change {
  return change('shop', to, second);
}

function check(key: string, second: number, fields: Partial<CheckFacts> = {}): CheckFacts {
  const times = { slot: at(second), timestamp: at(second) + 100, latencyMs: 50 };
  return { monitorId: `${key}-id`, region, status: 'UP', inconclusive: false, ...times, ...fields };
}

function span(from: number, until: number): { region: string; from: number; until: number } {
  return { region, from: at(from), until: at(until) };
}

/** Status changes with their webhooks. */
function withChanges(...changes: readonly Change[]): Pick<NetworkRecord, 'changes' | 'receipts'> {
  const receipts = changes.map(({ monitorId, to, timestamp }) => ({
    id: `${monitorId} ${timestamp}`,
    body: JSON.stringify({ event: to === 'DOWN' ? 'monitor.down' : 'monitor.up', monitorId }),
  }));
  return { changes, receipts };
}

/** Rare checks of one monitor each, of which those after an isolation are extra. */
const RARE = Array.from({ length: 30 }, (_, index) => monitor(`rare-${index}`, { intervalSeconds: 60 }));
const OUTAGE = { kind: 'hang', from: at(90), until: at(140) } as const;
const CANARY = monitor('canary', { isCanary: true });
const CANARY_ALERTS = [change('canary', 'DOWN', 12), change('canary', 'UP', 43)];
const DOWN = shop('DOWN', 100);
const UP = shop('UP', 145);
const CHANGES = [...CANARY_ALERTS, DOWN, UP];
const AFTER_ISOLATION = [
  check('canary', 45),
  check('shop', 47),
  ...RARE.map(({ key }, index) => check(key, 46 + (index % 15))),
];
const INCONCLUSIVE = check('shop', 20, { status: 'DOWN', inconclusive: true, timestamp: at(23) });
const COLD = monitor('cold', { outages: [{ ...OUTAGE, kind: 'cold' }] });
const DOUBTFUL = [95, 100].map((second) => check('cold', second, { inconclusive: true }));
const COLD_CHANGES = [change('cold', 'DOWN', 104), change('cold', 'UP', 145)];

/** One cut from 10 s to 40 s, and one outage from 90 s to 140 s. */
const GOOD: NetworkRecord = {
  seed: 1,
  startedAt: at(0),
  endedAt: at(200),
  hasCanaries: true,
  plannedCuts: 1,
  monitors: [CANARY, monitor('shop', { outages: [OUTAGE] }), ...RARE],
  cuts: [{ ...span(10, 40), kind: 'blackhole' }],
  kills: [],
  losses: [],
  isolations: [span(15, 42)],
  events: [INCONCLUSIVE, ...AFTER_ISOLATION],
  ...withChanges(...CHANGES),
  notUp: [],
  longestStallMs: 10,
};
const WITHOUT_RARE_7 = GOOD.events.filter(({ monitorId }) => monitorId !== 'rare-7-id');
const LATE_RESULT = check('shop', 30, { timestamp: at(51) });

test('a good record has no violations', () => {
  expect(findNetworkViolations(GOOD)).toEqual([]);
});

const VIOLATIONS: ViolationTable<Partial<NetworkRecord>> = {
  'a healthy target causes no alert': {
    'rare-1 was DOWN at …:20.000Z by r1': withChanges(...CHANGES, change('rare-1', 'DOWN', 20)),
    // Canaries may alert only during a cut.
    'canary was DOWN at …:01:20.000Z by r1': withChanges(...CHANGES, change('canary', 'DOWN', 80)),
  },
  'each outage causes one alert, in time': {
    '… outage (hang) of shop from …:01:30.000Z … not detected, due by …:57.000Z': withChanges(
      ...CANARY_ALERTS,
    ),
    '… was detected at …:58.000Z, due by …:57.000Z': withChanges(...CANARY_ALERTS, shop('DOWN', 118), UP),
    '… was detected again at …:10.000Z': withChanges(...CHANGES, shop('DOWN', 130)),
    '… outage (cold) of cold from …:01:30.000Z … not detected, due by …:02:02.000Z': {
      monitors: [...GOOD.monitors, COLD],
      events: [...GOOD.events, check('cold', 50), ...DOUBTFUL.slice(0, 1)],
    },
  },
  'each outage ends with one recovery, in time': {
    '… did not end, due by …:02:39.000Z': withChanges(...CANARY_ALERTS, DOWN),
    '… ended at …:40.000Z, due by …:39.000Z': withChanges(...CANARY_ALERTS, DOWN, shop('UP', 160)),
    '… ended too early, at …:02:00.000Z': withChanges(...CANARY_ALERTS, DOWN, shop('UP', 120)),
    '… ended again at …:02:30.000Z': withChanges(...CHANGES, shop('UP', 150)),
  },
  'each alert is received once': {
    'canary: 0 of 1 webhooks monitor.down were received': { receipts: GOOD.receipts.slice(1) },
  },
  'canaries alert for their region': {
    'canary was not DOWN from …:10.000Z to …:40.000Z': withChanges(DOWN, UP),
  },
  'a region is isolated only when it is cut off, or for a moment when it loses packets': {
    'r1 was isolated from …:30.000Z to …:35.000Z': { isolations: [...GOOD.isolations, span(150, 155)] },
    'r1 was isolated from …:30.000Z to …:45.000Z': {
      isolations: [...GOOD.isolations, span(150, 165)],
      losses: [{ ...span(148, 170), percent: 5 }],
    },
  },
  'a region that is cut off is isolated': {
    'r1 was not isolated from …:10.000Z to …:40.000Z': { isolations: [] },
  },
  'results are inconclusive only when their region is isolated, or in doubt and never twice in a row': {
    'shop in r1 at …:01:00.100Z': { events: [...GOOD.events, check('shop', 60, { inconclusive: true })] },
    'cold in r1 at …:01:40.100Z': {
      monitors: [...GOOD.monitors, COLD],
      events: [...GOOD.events, check('cold', 50), ...DOUBTFUL],
      ...withChanges(...CHANGES, ...COLD_CHANGES),
    },
  },
  'each monitor of a reconnected region is checked': {
    'rare-7 was not checked in r1 after …:42.000Z': { events: WITHOUT_RARE_7 },
  },
  'checks of a reconnected region are spread': {
    '30 of 30 monitors in one second after …:42.000Z in r1': {
      events: [...AFTER_ISOLATION.slice(0, 2), ...RARE.map(({ key }) => check(key, 50))],
    },
  },
  'no result waits longer than 10 s': {
    'shop in r1 at …:51.000Z waited 20.9 s': { events: [...GOOD.events, LATE_RESULT] },
  },
  'the campaign has something to lose': {
    '1 of 2 cuts took place': { plannedCuts: 2 },
    'no cut was unreachable': { plannedCuts: 2 },
    'no result was inconclusive': { events: AFTER_ISOLATION },
    '0 of 1 outages lasted long enough': {
      monitors: [CANARY, monitor('shop', { outages: [{ ...OUTAGE, until: at(110) }] }), ...RARE],
    },
  },
  'each monitor is UP at the end': { 'shop is not UP': { notUp: ['shop-id'] } },
};

testViolations(VIOLATIONS, (change) => findNetworkViolations({ ...GOOD, ...change }));

test.each<[string, Partial<NetworkRecord>]>([
  [
    'the alert of an outage that began in a cut and lasted only as long as the cut',
    {
      monitors: [...GOOD.monitors, monitor('blog', { outages: [{ kind: 'down', ...span(12, 38) }] })],
      events: [...GOOD.events, check('blog', 48)],
    },
  ],
  [
    'the first check after an isolation while the region is cut off again',
    { cuts: [...GOOD.cuts, { ...span(50, 60), kind: 'silent' }], events: WITHOUT_RARE_7 },
  ],
  [
    'that a region that loses packets is never isolated, and that its canaries never alert',
    {
      losses: [{ ...span(148, 170), percent: 5 }],
      isolations: [...GOOD.isolations, span(150, 155)],
      ...withChanges(...CHANGES, change('canary', 'DOWN', 152), change('canary', 'UP', 157)),
      endedAt: at(160),
    },
  ],
  [
    'that a target that starts cold is always asleep when it is checked',
    {
      monitors: [...GOOD.monitors, COLD],
      events: [...GOOD.events, check('cold', 50), ...DOUBTFUL.slice(0, 1)],
      ...withChanges(...CHANGES, ...COLD_CHANGES, change('cold', 'UP', 120), change('cold', 'DOWN', 130)),
    },
  ],
  [
    'that results are recorded in time while the checker is killed',
    { kills: [span(35, 38)], events: [...GOOD.events, LATE_RESULT] },
  ],
])('does not expect %s', (_, change) => {
  const found = findNetworkViolations({ ...GOOD, ...change });
  expect(found.filter(({ invariant }) => invariant !== 'the campaign has something to lose')).toEqual([]);
});
