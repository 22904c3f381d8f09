import { expect, test } from '@jest/globals';
import { plainMonitor } from '../load/world-plan.ts';
import { at, eventAt, GOOD, MONITOR, visitAt } from '../testing/campaign-record.ts';
import { testViolations, type ViolationTable } from '../testing/violations.ts';
import { findViolations } from './find-violations.ts';
import type {
  AgentFacts,
  EventFacts,
  NetworkMonitor,
  NetworkRecord,
  StatusChangeFacts,
  Violation,
} from './record.ts';

const region = 'r1';

/** The parts of a record that the tests change. */
interface Parts extends Omit<Partial<NetworkRecord>, 'database'> {
  readonly events?: readonly EventFacts[];
  readonly statusChanges?: readonly StatusChangeFacts[];
}

function monitor(key: string, fields: Partial<NetworkMonitor> = {}): NetworkRecord['monitors'][number] {
  const plan = {
    ...plainMonitor(key, region),
    failureThreshold: 1,
    isCanary: false,
    sleeps: false,
    outages: [],
  };
  return { ...MONITOR, id: `${key}-id`, plan: { ...plan, ...fields } };
}

function change(key: string, to: 'UP' | 'DOWN', second: number): StatusChangeFacts {
  const from = to === 'UP' ? 'DOWN' : 'UP';
  const id = `${key} ${second}`;
  return {
    id,
    monitorId: `${key}-id`,
    from,
    to,
    region,
    timestamp: at(second),
    webhookEvents: [],
    channelIds: [],
  };
}

function shop(to: 'UP' | 'DOWN', second: number): StatusChangeFacts {
  return change('shop', to, second);
}

function check(key: string, second: number, fields: Partial<EventFacts> = {}): EventFacts {
  return eventAt(second, true, { monitorId: `${key}-id`, region, latencyMs: 50, ...fields });
}

function span(from: number, until: number): { region: string; from: number; until: number } {
  return { region, from: at(from), until: at(until) };
}

/** An agent that is cut off from 10 s to 40 s, and receives a response at 60 s. */
function withAgent(agent: Partial<AgentFacts>, events: readonly EventFacts[] = []): Parts {
  const cuts = [{ region: 'r1-a', kind: 'blackhole', from: at(10), until: at(40) }] as const;
  const agents = { cuts, kills: [], addresses: new Map([['127.0.2.1', 'r1-a']]), ...agent };
  return { agents, visits: [visitAt(60, true)], events: [...EVENTS, ...events] };
}

function withChanges(...statusChanges: readonly StatusChangeFacts[]): Parts {
  return { statusChanges };
}

/** Monitors with infrequent checks. Those soon after an isolation are extra. */
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
  ...RARE.map(({ plan }, index) => check(plan.key, 46 + (index % 15))),
];
const INCONCLUSIVE = check('shop', 20, { status: 'DOWN', inconclusive: true, timestamp: at(23) });
const COLD = monitor('cold', { outages: [{ ...OUTAGE, kind: 'cold' }] });
const DOUBTFUL = [95, 100].map((second) => check('cold', second, { inconclusive: true }));
const COLD_CHANGES = [change('cold', 'DOWN', 104), change('cold', 'UP', 145)];

const MONITORS = [CANARY, monitor('shop', { outages: [OUTAGE] }), ...RARE];
const EVENTS = [INCONCLUSIVE, ...AFTER_ISOLATION];
const ISOLATIONS = [span(15, 42)];
const CUTS = [{ ...span(10, 40), kind: 'blackhole' as const }];

/** Returns the violations of the network invariants. By default, there is a cut from 10 s to 40 s, and an outage from 90 s to 140 s. */
function find({ events = EVENTS, statusChanges = CHANGES, ...parts }: Parts): Violation[] {
  const monitors = parts.monitors ?? MONITORS;
  const violations = findViolations({
    ...GOOD,
    campaign: 'networks',
    endedAt: at(200),
    hasCanaries: true,
    plannedCuts: 1,
    monitors,
    cuts: CUTS,
    kills: [],
    losses: [],
    isolations: ISOLATIONS,
    shown: new Map(monitors.map(({ id }) => [id, 'UP'])),
    longestStallMs: 10,
    agents: null,
    ...parts,
    database: { ...GOOD.database, events, statusChanges },
  });
  return violations.filter(({ invariant }) => invariant in VIOLATIONS);
}

const WITHOUT_RARE_7 = EVENTS.filter(({ monitorId }) => monitorId !== 'rare-7-id');
const LATE_RESULT = check('shop', 30, { timestamp: at(51) });

test('a good record has no violations', () => {
  expect(find({})).toEqual([]);
});

const VIOLATIONS: ViolationTable<Parts> = {
  'a healthy target causes no alert': {
    'rare-1 was DOWN at …:20.000Z by r1': withChanges(...CHANGES, change('rare-1', 'DOWN', 20)),
    // The outage is over, so this alert repeats it.
    'shop was DOWN at …:02:28.000Z by r1': withChanges(...CHANGES, shop('DOWN', 148), shop('UP', 150)),
    // Canaries may alert only during a cut.
    'canary was DOWN at …:01:20.000Z by r1': withChanges(...CHANGES, change('canary', 'DOWN', 80)),
  },
  'each outage causes one alert, in time': {
    '… outage (hang) of shop from …:01:30.000Z … not detected, due by …:57.000Z': withChanges(
      ...CANARY_ALERTS,
    ),
    '… was detected at …:58.000Z, due by …:57.000Z': withChanges(...CANARY_ALERTS, shop('DOWN', 118), UP),
    '… outage (cold) of cold from …:01:30.000Z … not detected, due by …:02:02.000Z': {
      monitors: [...MONITORS, COLD],
      events: [...EVENTS, check('cold', 50), ...DOUBTFUL.slice(0, 1)],
    },
  },
  'each outage ends with one recovery, in time': {
    '… did not end, due by …:02:39.000Z': withChanges(...CANARY_ALERTS, DOWN),
    '… ended at …:40.000Z, due by …:39.000Z': withChanges(...CANARY_ALERTS, DOWN, shop('UP', 160)),
    '… ended too early, at …:02:00.000Z': withChanges(...CANARY_ALERTS, DOWN, shop('UP', 120)),
    // A second alert in the same outage needs a recovery in between.
    '… ended too early, at …:01:50.000Z': withChanges(...CHANGES, shop('UP', 110), shop('DOWN', 130)),
  },
  'canaries alert for their region': {
    'canary was not DOWN from …:10.000Z to …:40.000Z': withChanges(DOWN, UP),
  },
  'a region is isolated only when it is cut off, or for a moment when it loses packets': {
    'r1 was isolated from …:30.000Z to …:35.000Z': { isolations: [...ISOLATIONS, span(150, 155)] },
    'r1 was isolated from …:30.000Z to …:45.000Z': {
      isolations: [...ISOLATIONS, span(150, 165)],
      losses: [{ ...span(148, 170), percent: 5 }],
    },
  },
  'a region that is cut off is isolated': {
    'r1 was not isolated from …:10.000Z to …:40.000Z': { isolations: [] },
  },
  'results are inconclusive only when their region is isolated, or in doubt and never twice in a row': {
    'shop in r1 at …:01:00.100Z': { events: [...EVENTS, check('shop', 60, { inconclusive: true })] },
    'cold in r1 at …:01:40.100Z': {
      monitors: [...MONITORS, COLD],
      events: [...EVENTS, check('cold', 50), ...DOUBTFUL],
      ...withChanges(...CHANGES, ...COLD_CHANGES),
    },
  },
  'each monitor of a reconnected region is checked': {
    'rare-7 was not checked in r1 after …:42.000Z': { events: WITHOUT_RARE_7 },
  },
  'checks of a reconnected region are spread': {
    '30 of 30 monitors in one second after …:42.000Z in r1': {
      events: [...AFTER_ISOLATION.slice(0, 2), ...RARE.map(({ plan }) => check(plan.key, 50))],
    },
  },
  'no result waits longer than 10 s': {
    'shop in r1 at …:51.000Z waited 20.9 s': { events: [...EVENTS, LATE_RESULT] },
  },
  'every result of a surviving agent is recorded': {
    'shop: the response of …:01:00.050Z to r1-a has no event': withAgent({}),
  },
  'a healthy target is checked, except while agents are disconnected': {
    'rare-7 was not checked between …:01:40.000Z and …:03:13.000Z': withAgent({}, [
      check('rare-7', 100),
      check('rare-7', 193),
    ]),
  },
  'the campaign has something to lose': {
    '1 of 2 cuts took place': { plannedCuts: 2 },
    'no cut was unreachable': { plannedCuts: 2 },
    'no result was inconclusive': { events: AFTER_ISOLATION },
    '0 of 1 outages lasted long enough': {
      monitors: [CANARY, monitor('shop', { outages: [{ ...OUTAGE, until: at(110) }] }), ...RARE],
    },
  },
  'each monitor shows the state of its target': {
    'shop: its target is up at the end, the API shows DOWN': { shown: new Map([['shop-id', 'DOWN']]) },
  },
};

testViolations(VIOLATIONS, find);

test.each<[string, Parts]>([
  [
    'the alert of an outage that began in a cut and lasted only as long as the cut',
    {
      monitors: [...MONITORS, monitor('blog', { outages: [{ kind: 'down', ...span(12, 38) }] })],
      events: [...EVENTS, check('blog', 48)],
    },
  ],
  [
    'the first check after an isolation while the region is cut off again',
    { cuts: [...CUTS, { ...span(50, 60), kind: 'silent' }], events: WITHOUT_RARE_7 },
  ],
  [
    'that a region that loses packets is never isolated, and that its canaries never alert',
    {
      losses: [{ ...span(148, 170), percent: 5 }],
      isolations: [...ISOLATIONS, span(150, 155)],
      ...withChanges(...CHANGES, change('canary', 'DOWN', 152), change('canary', 'UP', 157)),
      endedAt: at(160),
    },
  ],
  [
    'that a target that starts cold is always asleep when it is checked',
    {
      monitors: [...MONITORS, COLD],
      events: [...EVENTS, check('cold', 50), ...DOUBTFUL.slice(0, 1)],
      ...withChanges(...CHANGES, ...COLD_CHANGES, change('cold', 'UP', 120), change('cold', 'DOWN', 130)),
    },
  ],
  [
    'that results are recorded in time while the checker is killed',
    { kills: [span(35, 38)], events: [...EVENTS, LATE_RESULT] },
  ],
  [
    'a result of an agent that was killed before it could return it',
    withAgent({ kills: [{ region: 'r1-a', from: at(65), until: at(67) }] }),
  ],
  [
    'an event of the last slot if a check started late',
    withAgent({}, [check('shop', 50, { timestamp: at(61) })]),
  ],
  [
    'an event for a response that may not have reached its agent, which was cut off',
    withAgent({ cuts: [{ region: 'r1-a', kind: 'silent', from: at(60.5), until: at(90) }] }),
  ],
  ['a check during a cut', withAgent({}, [check('shop', 60), check('rare-1', -20)])],
])('does not expect %s', (_, change) => {
  expect(find(change).filter(({ invariant }) => invariant !== 'the campaign has something to lose')).toEqual(
    [],
  );
});
