import { describe, expect, test } from '@jest/globals';
import { countTurns, scaleDurations } from './control-loop.ts';
import { PERIODS, replicasForTotal, replicasForUsage, Stabilizer } from './horizontal-pod-autoscaler.ts';

const LIMITS = { minReplicas: 2, maxReplicas: 20, scaleDownWindow: 300_000 };

/** Pods by their age, each with its usage in millicores; `-`: no metric. https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details */
test.each([
  ['50m halves them', 'old 50, old 50, old 50, old 50', 2],
  ['a ratio within 0.1 of 1.0 changes nothing', 'old 109, old 109', 2],
  ['the average of the pods counts', 'old 300, old 100', 4],
  ['a part of a pod is a whole one', 'old 115, old 115', 3],
  ['a pod without a metric counts as idle while scaling up', 'old 300, old -', 3],
  ['a pod without a metric counts as at the target while scaling down', 'old 20, old 20, old -', 2],
  ['a step that this reverses is not taken', 'old 150, old -', 2],
  ['a young pod counts as idle while scaling up', 'old 300, young 900', 3],
  ['a starting pod counts as idle while scaling up', 'old 300, starting 900', 3],
  ['a young pod is left out while scaling down', 'old 50, old 50, young 900', 1],
  ['no pod with a metric decides nothing', 'starting -, young 900', null],
])('replicas for CPU usage, target 100m: %s', (_name, text, replicas) => {
  const now = 1_000_000;
  const ages = new Map([
    ['old', { startedAt: 0, readyAt: 5_000 }],
    ['young', { startedAt: now - 20_000, readyAt: now - 10_000 }],
    ['starting', { startedAt: now - 20_000, readyAt: null }],
  ]);
  const usages = new Map<string, { cores: number; at: number; windowMs: number }>();
  const pods = text.split(', ').map((pod, index) => {
    const [age = '', usage] = pod.split(' ');
    const name = `pod ${index}`;
    if (usage !== '-') usages.set(name, { cores: Number(usage) / 1_000, at: now, windowMs: 15_000 });
    return { startedAt: 0, readyAt: null, ...ages.get(age), name };
  });
  expect(replicasForUsage(pods, usages, 0.1, { now, periods: PERIODS })).toBe(replicas);
});

test.each([
  ['the total divided by the target, rounded up', 1.01, 2, 5],
  ['within 0.1 of the target of each replica', 0.54, 2, 2],
  ['above it', 0.56, 2, 3],
  ['no load', 0, 4, 0],
])('replicas for an external metric, target 0.25: %s', (_name, total, replicas, expected) => {
  expect(replicasForTotal(total, 0.25, replicas)).toBe(expected);
});

/** The recommendations by second, and the replicas that follow. */
test.each<[string, number, Readonly<Record<number, number | null>>, number[]]>([
  [
    'adds 4 replicas or 100 % in 15 s, whichever is more',
    2,
    { 0: 50, 10: 50, 15: 50, 30: 50 },
    [6, 6, 12, 20],
  ],
  [
    'removes replicas only down to the highest recommendation of the window, and to the minimum',
    2,
    { 0: 5, 15: 1, 290: 4, 300: 1, 589: 1, 590: 1 },
    [5, 5, 5, 4, 4, 2],
  ],
  ['keeps the replicas without a recommendation', 2, { 0: 5, 400: null, 415: 3 }, [5, 5, 3]],
  ['brings too few replicas back', 1, { 0: null }, [2]],
  ['brings too many replicas back', 25, { 0: null }, [20]],
])('the stabilizer %s', (_, before, recommended, expected) => {
  const stabilizer = new Stabilizer(LIMITS, PERIODS);
  let current = before;
  const replicas = Object.entries(recommended).map(
    ([second, wanted]) => (current = stabilizer.decide(Number(second) * 1_000, current, wanted)),
  );
  expect(replicas).toEqual(expected);
});

/** The turns of a series of replicas. */
function turnsOf(replicas: readonly number[]): number {
  const changes = replicas.slice(1).map((to, index) => ({ from: replicas[index] ?? 0, to }));
  return countTurns(changes.filter(({ from, to }) => from !== to));
}

test.each([
  ['up in several steps and down in several', [2, 4, 5, 3, 2], 0],
  ['down first', [2, 1, 5, 2], 1],
  ['down and up again while the load stays', [2, 5, 4, 5, 2], 2],
])('countTurns, %s', (_name, replicas, turns) => {
  expect(turnsOf(replicas)).toBe(turns);
});

test('scaleDurations scales each duration of an expression', () => {
  const scaled = 'rate(a{b="c"}[60000ms]) and rate(d[45000ms])';
  expect(scaleDurations('rate(a{b="c"}[2m]) and rate(d[90s])', 0.5)).toBe(scaled);
});

describe('as a signal for the number of checkers', () => {
  interface Region {
    readonly load: number;
    readonly replicas: number;
    /** Checks that are due and not done. */
    readonly backlog: number;
    /** The cores that all checkers use, averaged. */
    readonly cores: number;
  }
  const STEP_SECONDS = PERIODS.sync / 1_000;
  /** Checks per second of a checker that uses its whole core. */
  const CAPACITY = 1_000;
  /** Decisions within the two minutes over which Prometheus averages. */
  const AVERAGED = 8;
  const fill = (length: number, value: number): number[] => Array.from({ length }, () => value);

  /** Scales checkers by a signal, at 200, 3,000 and 200 checks per second. @returns their number at each decision */
  function simulate(recommend: (region: Region) => number): number[] {
    const stabilizer = new Stabilizer({ ...LIMITS, maxReplicas: 10 }, PERIODS);
    const used = fill(AVERAGED, 0);
    let backlog = 0;
    let replicas = LIMITS.minReplicas;
    return [...fill(40, 200), ...fill(160, 3_000), ...fill(80, 200)].map((load, step) => {
      const done = Math.min(load + backlog / STEP_SECONDS, replicas * CAPACITY);
      backlog = Math.max(0, backlog + (load - done) * STEP_SECONDS);
      used.push(done / CAPACITY);
      const cores = used.slice(-AVERAGED).reduce((sum, one) => sum + one, 0) / AVERAGED;
      const recommended = recommend({ load, replicas, backlog, cores });
      return (replicas = stabilizer.decide(step * PERIODS.sync, replicas, recommended));
    });
  }

  test('CPU settles at one number of checkers for each load', () => {
    const replicas = simulate((region) => replicasForTotal(region.cores, 0.5, region.replicas));
    expect(turnsOf(replicas)).toBe(0);
    // The load of three cores, at half a core each. The backlog of the first minutes needs one more, for as long as the window.
    expect(replicas.slice(80, 200)).toEqual(fill(120, 6));
    expect(replicas.at(-1)).toBe(2);
  });

  test('the lag oscillates, because it says nothing while the checkers suffice', () => {
    // A target of one second, as a Value: proportional to the current number.
    const replicas = simulate((region) => Math.ceil(region.backlog / CAPACITY));
    expect(turnsOf(replicas)).toBeGreaterThan(5);
  });
});
