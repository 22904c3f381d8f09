import { expect, test } from '@jest/globals';
import { findNetworkViolations } from './find-violations.ts';
import type { CheckFacts, NetworkMonitor, NetworkRecord } from './record.ts';

const START = Date.UTC(2026, 0, 1);
const REGION = 'r1';

function at(seconds: number): number {
  return START + seconds * 1_000;
}

function monitor(key: string, fields: Partial<NetworkMonitor> = {}): NetworkRecord['monitors'][number] {
  return {
    id: `${key}-id`,
    key,
    isCanary: false,
    regions: [REGION],
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

type Change = NetworkRecord['changes'][number];

function change(key: string, to: 'UP' | 'DOWN', seconds: number): Change {
  const from = to === 'UP' ? 'DOWN' : 'UP';
  return { monitorId: `${key}-id`, from, to, region: REGION, timestamp: at(seconds) };
}

function check(key: string, seconds: number, fields: Partial<CheckFacts> = {}): CheckFacts {
  const [slot, timestamp] = [at(seconds), at(seconds) + 100];
  const event = { monitorId: `${key}-id`, region: REGION, slot, timestamp, latencyMs: 50 };
  return { ...event, status: 'UP', inconclusive: false, ...fields };
}

function webhooks(changes: readonly Change[]): NetworkRecord['receipts'] {
  return changes.map(({ monitorId, to, timestamp }) => ({
    id: `${monitorId} ${timestamp}`,
    body: JSON.stringify({ event: to === 'DOWN' ? 'monitor.down' : 'monitor.up', monitorId }),
  }));
}

/** Rare checks of one monitor each, of which those after an isolation are extra. */
const RARE = Array.from({ length: 30 }, (_, index) => monitor(`rare-${index}`, { intervalSeconds: 60 }));
const OUTAGE = { kind: 'hang', from: at(90), until: at(140) } as const;
const CHANGES = [
  change('canary', 'DOWN', 12),
  change('canary', 'UP', 43),
  change('shop', 'DOWN', 100),
  change('shop', 'UP', 145),
];
const AFTER_ISOLATION = [
  check('canary', 45),
  check('shop', 47),
  ...RARE.map(({ key }, index) => check(key, 46 + (index % 15))),
];
const INCONCLUSIVE = check('shop', 20, { status: 'DOWN', inconclusive: true, timestamp: at(23) });

/** One cut from 10 s to 40 s, and one outage from 90 s to 140 s. */
const GOOD: NetworkRecord = {
  seed: 1,
  startedAt: START,
  endedAt: at(200),
  hasCanaries: true,
  plannedCuts: 1,
  monitors: [monitor('canary', { isCanary: true }), monitor('shop', { outages: [OUTAGE] }), ...RARE],
  cuts: [{ region: REGION, kind: 'blackhole', from: at(10), until: at(40) }],
  kills: [],
  isolations: [{ region: REGION, from: at(15), until: at(42) }],
  events: [INCONCLUSIVE, ...AFTER_ISOLATION],
  changes: CHANGES,
  receipts: webhooks(CHANGES),
  notUp: [],
  longestStallMs: 10,
};

function withChanges(changes: readonly Change[]): Partial<NetworkRecord> {
  return { changes, receipts: webhooks(changes) };
}

function replaceDown(seconds: number): Partial<NetworkRecord> {
  return withChanges(CHANGES.map((one) => (one === CHANGES[2] ? change('shop', 'DOWN', seconds) : one)));
}

test('a good record has no violations', () => {
  expect(findNetworkViolations(GOOD)).toEqual([]);
});

test.each<[string, Partial<NetworkRecord>, string, RegExp]>([
  [
    'an alert of a healthy target',
    withChanges([...CHANGES, change('rare-1', 'DOWN', 20), change('rare-1', 'UP', 45)]),
    'a healthy target causes no alert',
    /^rare-1 was DOWN at .*:20.000Z by r1$/,
  ],
  [
    'an alert before an outage',
    replaceDown(89),
    'a healthy target causes no alert',
    /^shop was DOWN at .*:01:29.000Z by r1$/,
  ],
  [
    'an alert of a canary without a cut',
    withChanges([...CHANGES, change('canary', 'DOWN', 80), change('canary', 'UP', 85)]),
    'a healthy target causes no alert',
    /^canary was DOWN/,
  ],
  [
    'an outage without an alert',
    withChanges(CHANGES.slice(0, 2)),
    'each outage causes one alert, in time',
    /^the outage \(hang\) of shop from .*:01:30.000Z to .* was not detected, due by .*:01:57.000Z$/,
  ],
  [
    'an outage with a late alert',
    replaceDown(118),
    'each outage causes one alert, in time',
    /was detected at .*:01:58.000Z, due by .*:01:57.000Z$/,
  ],
  [
    'an outage with two alerts',
    withChanges([...CHANGES.slice(0, 3), change('shop', 'DOWN', 130), ...CHANGES.slice(3)]),
    'each outage causes one alert, in time',
    /was detected again at .*:02:10.000Z$/,
  ],
  [
    'an outage without a recovery',
    withChanges(CHANGES.slice(0, 3)),
    'each outage ends with one recovery, in time',
    /did not end, due by .*:02:39.000Z$/,
  ],
  [
    'a late recovery',
    withChanges([...CHANGES.slice(0, 3), change('shop', 'UP', 160)]),
    'each outage ends with one recovery, in time',
    /ended at .*:02:40.000Z, due by .*:02:39.000Z$/,
  ],
  [
    'a recovery during the outage',
    withChanges([...CHANGES.slice(0, 3), change('shop', 'UP', 120)]),
    'each outage ends with one recovery, in time',
    /ended too early, at .*:02:00.000Z$/,
  ],
  [
    'a second recovery',
    withChanges([...CHANGES, change('shop', 'UP', 150)]),
    'each outage ends with one recovery, in time',
    /ended again at .*:02:30.000Z$/,
  ],
  [
    'a lost webhook',
    { receipts: GOOD.receipts.slice(1) },
    'each alert is received once',
    /^canary: 0 of 1 webhooks monitor.down were received$/,
  ],
  [
    'a cut without an alert of the canary',
    withChanges(CHANGES.slice(2)),
    'canaries alert for their region',
    /^canary was not DOWN from .*:10.000Z to .*:40.000Z$/,
  ],
  [
    'an isolation without a cut',
    { isolations: [...GOOD.isolations, { region: REGION, from: at(150), until: at(155) }] },
    'a region is isolated only when it is cut off',
    /^r1 was isolated from .*:02:30.000Z to .*:02:35.000Z$/,
  ],
  [
    'a cut that nobody noticed',
    { isolations: [] },
    'a region that is cut off is isolated',
    /^r1 was not isolated from .*:10.000Z to .*:40.000Z$/,
  ],
  [
    'an inconclusive result without a cut',
    { events: [...GOOD.events, check('shop', 60, { inconclusive: true })] },
    'results are inconclusive only when their region is cut off',
    /^shop in r1 at .*:01:00.100Z$/,
  ],
  [
    'a monitor that is not checked after an isolation',
    { events: GOOD.events.filter(({ monitorId }) => monitorId !== 'rare-7-id') },
    'each monitor of a reconnected region is checked',
    /^rare-7 was not checked in r1 after .*:42.000Z$/,
  ],
  [
    'checks of all monitors in one second',
    { events: [INCONCLUSIVE, ...AFTER_ISOLATION.slice(0, 2), ...RARE.map(({ key }) => check(key, 50))] },
    'checks of a reconnected region are spread',
    /^30 of 30 monitors in one second after .*:42.000Z in r1$/,
  ],
  [
    'a result that waits too long',
    { events: [...GOOD.events, check('shop', 30, { timestamp: at(51) })] },
    'no result waits longer than 10 s',
    /^shop in r1 at .*:51.000Z waited 20.9 s$/,
  ],
  [
    'a missing cut',
    { plannedCuts: 2 },
    'the campaign has something to lose',
    /^(1 of 2 cuts took place|no cut was unreachable)$/,
  ],
  [
    'a campaign without inconclusive results',
    { events: AFTER_ISOLATION },
    'the campaign has something to lose',
    /^no result was inconclusive$/,
  ],
  [
    'outages that are too short',
    {
      monitors: [
        monitor('canary', { isCanary: true }),
        monitor('shop', { outages: [{ ...OUTAGE, until: at(110) }] }),
        ...RARE,
      ],
    },
    'the campaign has something to lose',
    /^0 of 1 outages lasted long enough$/,
  ],
  [
    'a monitor that is not UP at the end',
    { notUp: ['shop-id'] },
    'each monitor is UP at the end',
    /^shop is not UP$/,
  ],
])('finds %s', (_, changed, invariant, detail) => {
  const found = findNetworkViolations({ ...GOOD, ...changed }).filter((one) => one.invariant === invariant);
  expect(found.map((one) => one.detail)).toEqual(expect.arrayContaining([expect.stringMatching(detail)]));
});

test.each<[string, Partial<NetworkRecord>]>([
  [
    'the alert of an outage that began in a cut and lasted only as long as the cut',
    {
      monitors: [
        ...GOOD.monitors,
        monitor('blog', { outages: [{ kind: 'down', from: at(12), until: at(38) }] }),
      ],
      events: [...GOOD.events, check('blog', 48)],
    },
  ],
  [
    'the first check after an isolation while the region is cut off again',
    {
      cuts: [...GOOD.cuts, { region: REGION, kind: 'silent', from: at(50), until: at(60) }],
      events: GOOD.events.filter(({ monitorId }) => monitorId !== 'rare-7-id'),
    },
  ],
  [
    'results that wait while the checker is killed',
    {
      kills: [{ region: REGION, from: at(35), until: at(38) }],
      events: [...GOOD.events, check('shop', 30, { timestamp: at(51) })],
    },
  ],
])('does not expect %s', (_, changed) => {
  const found = findNetworkViolations({ ...GOOD, ...changed }).filter(
    ({ invariant }) => invariant !== 'the campaign has something to lose',
  );
  expect(found).toEqual([]);
});
