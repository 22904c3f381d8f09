import { describe, expect, test } from '@jest/globals';
import { compareAlerts, type Alert } from './find-alerts.ts';
import { FLAP, isDown, transitionsOf } from './flaps.ts';
import { growthOf } from './growth.ts';
import { changesOf } from './history.ts';
import { parseCounts } from './name-servers.ts';
import { hostsOf, targetOf } from './plan.ts';
import { behaviorOf } from './target-path.ts';
import { windowsOf } from './windows.ts';

describe('a target that flaps', () => {
  test.each([
    [0, 0, true],
    [0, 179_999, true],
    [0, 180_000, false],
    [0, 600_000, true],
    [590_000, 0, true],
    [590_000, 170_000, false],
  ])('with phase %d is down at %d: %p', (phase, now, expected) => {
    expect(isDown(phase, now)).toBe(expected);
  });

  test('has transitions from the start of a span to before its end', () => {
    expect(transitionsOf(10_000, { from: 190_000, to: 790_000 })).toEqual([
      { at: 190_000, status: 'UP' },
      { at: 610_000, status: 'DOWN' },
    ]);
    expect(transitionsOf(10_000, { from: 190_001, to: 610_000 })).toEqual([]);
  });
});

describe('compareAlerts', () => {
  const FROM = 1_200_000_000;
  const SPAN = { from: FROM, to: FROM + 2 * FLAP.periodMs };
  /** Goes down at 100 s and 700 s of the span. */
  const PHASES = new Map([['a', (FROM + 100_000) % FLAP.periodMs]]);
  const DOWN_AT = FROM + 100_000;
  const alert = (monitorId: string, status: Alert['status'], timestamp: number): Alert => {
    const webhookId = `${monitorId} ${status} ${timestamp}`;
    return { webhookId, monitorId, status, timestamp, receivedAt: timestamp + 50 };
  };
  /** The alerts of a flapping monitor whose checks see each transition after 20 s. */
  const ALL = [0, FLAP.periodMs].flatMap((period) => [
    alert('a', 'DOWN', DOWN_AT + period + 20_000),
    alert('a', 'UP', DOWN_AT + period + FLAP.downMs + 20_000),
  ]);
  const compare = (alerts: readonly Alert[], span = SPAN): object =>
    compareAlerts(alerts, PHASES, span, 60_000);
  const late = alert('a', 'UP', DOWN_AT + FLAP.downMs + 90_000);
  const early = alert('a', 'DOWN', DOWN_AT - 1);
  const second = alert('a', 'DOWN', DOWN_AT + 30_000);
  const other = alert('b', 'DOWN', FROM + 5);
  const [before, after] = [alert('b', 'DOWN', FROM - 1), alert('b', 'UP', SPAN.to)];

  test.each([
    ['the alert of each transition', ALL, {}],
    ['a missing alert', ALL.slice(1), { missing: 1, delaysMs: [20_050, 20_050, 20_050] }],
    ['an alert of a target that is always up', [...ALL, other], { unexpected: [other] }],
    ['an alert before the transition', [...ALL, early], { unexpected: [early] }],
    ['a second alert of one transition', [...ALL, second], { unexpected: [second] }],
    ['an alert long after the transition', [...ALL, late], { unexpected: [late] }],
    ['a webhook that arrives twice', [...ALL, ...ALL.slice(0, 1)], { repeated: 1 }],
    ['no alerts before and after the span', [before, ...ALL, after], {}],
  ])('finds %s', (_, alerts, found) => {
    const delaysMs = [20_050, 20_050, 20_050, 20_050];
    const none = { expected: 4, missing: 0, unexpected: [], repeated: 0, delaysMs };
    expect(compare(alerts)).toEqual({ ...none, ...found });
  });

  test('expects no alert that may be due after the span', () => {
    expect(compare([], { from: FROM, to: DOWN_AT + 60_000 })).toMatchObject({ expected: 0 });
  });
});

describe('the plan of 120,000 monitors', () => {
  const TARGETS = Array.from({ length: 120_000 }, (_, number) => targetOf(number));

  test('gives each kind of target its share', () => {
    const https = TARGETS.filter(({ protocol }) => protocol === 'https');
    const count = (kind: string, of = TARGETS): number => of.filter((target) => target.kind === kind).length;
    expect([https.length, count('hanging'), count('flapping'), count('flapping', https)]).toEqual([
      12_000, 1_200, 600, 60,
    ]);
  });

  test('spreads the delays from 20 to 800 ms by their logarithm', () => {
    const delays = TARGETS.flatMap(({ path }) => behaviorOf(`GET ${path} `)?.delayMs ?? []);
    const sorted = delays.toSorted((one, other) => one - other);
    expect([sorted[0], sorted.at(-1)]).toEqual([20, 800]);
    expect(sorted[Math.floor(sorted.length / 2)]).toBeCloseTo(Math.sqrt(20 * 800), -1);
  });

  test('spreads the outages over the whole period', () => {
    const phases = TARGETS.flatMap(({ flapPhaseMs }) => flapPhaseMs ?? []);
    const minutes = new Set(phases.map((phase) => Math.floor(phase / 60_000)));
    expect(minutes.size).toBe(FLAP.periodMs / 60_000);
  });

  test('has each host of the targets once, with a TTL from 30 to 300 s', () => {
    const hosts = hostsOf(TARGETS.length);
    expect(new Set(hosts.map(({ name }) => name))).toEqual(new Set(TARGETS.map(({ host }) => host)));
    expect(hosts).toHaveLength(10_000);
    const ttls = hosts.map(({ ttlSeconds }) => ttlSeconds);
    expect([Math.min(...ttls), Math.max(...ttls)]).toEqual([30, 300]);
  });
});

test('changesOf counts the partitions that were created, packed and dropped, and the time that was rolled up', () => {
  const state = (names: string, rolledUntil: number | null): Parameters<typeof changesOf>[0][number] => {
    return { partitions: new Map(names.split(' ').map((name) => [name, 1])), databaseBytes: 1, rolledUntil };
  };
  const changes = changesOf([
    state('events_1 events_2', null),
    state('events_1 events_2 events_3', 1_000),
    state('event_blocks_1 events_2 events_3', 1_000),
    state('events_2 events_3 events_4', 3_000),
  ]);
  expect(changes).toEqual({ created: 2, packed: 1, expired: 1, rolledMs: 2_000 });
});

test.each([
  ['a shorter last window', 420_000, [300_000, 120_000]],
  ['no part of an interval', 419_999, [300_000, 60_000]],
  ['nothing shorter than an interval', 59_999, []],
])('windowsOf splits a span into %s', (_, length, expected) => {
  const from = 1_795_000_000_123;
  const windows = windowsOf({ from, to: from + length }, 60_000, 5);
  expect(windows.map((window) => window.to - window.from)).toEqual(expected);
  for (const [index, window] of windows.entries()) expect(window.from).toBe(windows[index - 1]?.to ?? from);
});

test('parseCounts reads the totals of all threads of a name server', () => {
  const text = 'thread0.num.queries=7\ntotal.num.queries=12\ntotal.num.cachehits=9\ntotal.num.cachemiss=3\n';
  expect(parseCounts(text)).toEqual({ queries: 12, misses: 3 });
});

test.each([
  ['a leak of 1 a minute', (minute: number) => 200 + minute, 75, 60],
  ['a saw tooth', (minute: number) => 200 + (minute % 5), 0, 0],
  ['a peak in the middle', (minute: number) => (minute === 50 ? 900 : 200), 0, 0],
])('growthOf measures %s', (_, valueOf, growth, perHour) => {
  const points = Array.from({ length: 101 }, (_, minute) => ({
    at: minute * 60_000,
    value: valueOf(minute),
  }));
  expect(growthOf(points)).toMatchObject({ growth, perHour: expect.closeTo(perHour) });
});
