import { expect, test } from '@jest/globals';
import { expectedChanges, expectedWebhooks, type CheckEvent, type ModelMonitor } from './model.ts';

const at = (second: number): number => Date.UTC(2026, 0, 1) + second * 1_000;

/** One check per second: `+` passed, `-` failed, `?` was inconclusive. */
function eventsOf(course: string): CheckEvent[] {
  return Array.from(course, (mark, second) => ({
    timestamp: new Date(at(second)).toISOString(),
    status: mark === '+' ? 'UP' : 'DOWN',
    inconclusive: mark === '?',
    latency: second,
    errorReason: mark === '+' ? null : 'HTTP_500',
    region: 'north',
  }));
}

const steps = (course: string, from: number, until: number): string[] =>
  expectedWebhooks(
    {
      failureThreshold: 2,
      regions: ['north'],
      maintenance: [{ startsAt: at(from) - 500, endsAt: at(until) - 500 }],
    },
    eventsOf(course),
  ).map(({ event, previousStatus, latency }) => `${previousStatus} ${event} ${latency}`);

const DOWN = ['UP monitor.down 2', 'UP incident.created 2', 'DOWN monitor.maintenance 0'];

test('an outage that recovered during maintenance is announced as over when maintenance ends', () => {
  expect(steps('+--++++', 3, 6)).toEqual([
    ...DOWN,
    'MAINTENANCE monitor.up 5',
    'MAINTENANCE incident.resolved 5',
  ]);
});

test('DOWN returns silently after maintenance when its last check failed, until a check passes', () => {
  expect(steps('+--++-+', 3, 6)).toEqual([...DOWN, 'DOWN monitor.up 6', 'DOWN incident.resolved 6']);
});

test('an outage that lasts through maintenance is announced again within the same incident', () => {
  expect(steps('+------+', 3, 6)).toEqual([
    ...DOWN,
    'MAINTENANCE monitor.down 5',
    'DOWN monitor.up 7',
    'DOWN incident.resolved 7',
  ]);
});

/** The changes of a monitor, by seconds since the first event. */
function changesOf(monitor: Partial<ModelMonitor>, events: CheckEvent[], until?: number): string[] {
  const defaults = { failureThreshold: 1, regions: ['north'], maintenance: [] };
  return expectedChanges({ ...defaults, ...monitor }, events, until).map(
    ({ from, to, at: stamp, webhooks }) =>
      `${from} ${to} ${(stamp - at(0)) / 1_000}${webhooks.length === 0 ? ' silent' : ''}`,
  );
}

/** Alternating events of two regions. */
function fromTwoRegions(course: string): CheckEvent[] {
  return eventsOf(course).map((event, index) => ({ ...event, region: index % 2 === 0 ? 'north' : 'south' }));
}

const TWO = { regions: ['north', 'south'] };

test.each<[string, Partial<ModelMonitor>, CheckEvent[], string[]]>([
  [
    'failures count up to the threshold',
    { failureThreshold: 2 },
    eventsOf('+--+'),
    ['UP DOWN 2', 'DOWN UP 3'],
  ],
  [
    'a recovery needs as many passes in a row as its threshold',
    { failureThreshold: 2, recoveryThreshold: 3 },
    eventsOf('+--++-+++-+'),
    ['UP DOWN 2', 'DOWN UP 8'],
  ],
  [
    'a recovery needs a majority of the regions',
    { ...TWO, recoveryThreshold: 2 },
    fromTwoRegions('--+++'),
    ['UP DOWN 1', 'DOWN UP 4'],
  ],
  ['DOWN needs a majority of the regions', TWO, fromTwoRegions('++--+'), ['UP DOWN 3', 'DOWN UP 4']],
  [
    'an edit of the threshold takes effect at its time',
    { failureThreshold: 3, thresholds: [{ at: at(1) + 500, value: 1 }] },
    eventsOf('+--'),
    ['UP DOWN 1.5'],
  ],
])('%s', (_, monitor, events, expected) => {
  expect(changesOf(monitor, events)).toEqual(['PENDING UP 0 silent', ...expected]);
});

test('neither inconclusive checks nor checks from another region count', () => {
  expect(changesOf({ failureThreshold: 2 }, eventsOf('??+-??-?+'))).toEqual([
    'PENDING UP 2 silent',
    'UP DOWN 6',
    'DOWN UP 8',
  ]);
  expect(changesOf({ regions: ['south'] }, eventsOf('+-'))).toEqual([]);
});

test('a region without a fresh result does not count', () => {
  const events = fromTwoRegions('++-+-+-+').filter(({ region }, index) => region === 'north' || index === 1);
  expect(changesOf(TWO, events)).toEqual(['PENDING UP 0 silent']);
  expect(changesOf({ ...TWO, freshForMs: 3_000 }, events)).toEqual(['PENDING UP 0 silent', 'UP DOWN 4']);
});

test('after a silence of all regions, one region does not decide alone', () => {
  const [first, second, , , , , , , late] = fromTwoRegions('++------+-');
  const failure = { ...late, status: 'DOWN' as const } as CheckEvent;
  const events = [first, second, failure] as CheckEvent[];
  expect(changesOf({ ...TWO, freshForMs: 3_000 }, events)).toEqual(['PENDING UP 0 silent']);
});

test('maintenance that ends after the last event ends only if `until` includes its end', () => {
  const maintained = { maintenance: [{ startsAt: at(0) + 500, endsAt: at(9) }] };
  const entered = ['PENDING UP 0 silent', 'UP MAINTENANCE 0.5'];
  expect(changesOf(maintained, eventsOf('+-'))).toEqual(entered);
  expect(changesOf(maintained, eventsOf('+-'), Infinity)).toEqual([...entered, 'MAINTENANCE DOWN 9']);
});
