import { describe, expect, test } from '@jest/globals';
import { PERIODS, replicasForTotal, replicasForUsage, Stabilizer } from './horizontal-pod-autoscaler.ts';

const NOW = 1_000_000;
const OLD = { startedAt: 0, readyAt: 5_000 };
const YOUNG = { startedAt: NOW - 20_000, readyAt: NOW - 10_000 };
const STARTING = { startedAt: NOW - 20_000, readyAt: null };

/** The usages in millicores; null: no metric. */
function recommend(pods: readonly (readonly [typeof OLD | typeof STARTING, number | null])[]): number | null {
  const named = pods.map(([pod], index) => ({ ...pod, name: `pod ${index}` }));
  const usages = pods.flatMap(([, usage], index) =>
    usage === null ? [] : [[`pod ${index}`, { cores: usage / 1_000, at: NOW, windowMs: 15_000 }] as const],
  );
  return replicasForUsage(named, new Map(usages), 0.1, { now: NOW, periods: PERIODS });
}

describe('replicas for CPU usage, target 100m', () => {
  // https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details
  test.each([
    ['200m doubles them', [200, 200], 4],
    ['50m halves them', [50, 50, 50, 50], 2],
    ['a ratio within 0.1 of 1.0 changes nothing', [109, 109], 2],
    ['the average of the pods counts', [300, 100], 4],
    ['a part of a pod is a whole one', [115, 115], 3],
  ])('%s', (_name, usages, replicas) => {
    expect(recommend(usages.map((usage) => [OLD, usage]))).toBe(replicas);
  });

  test.each<[string, Parameters<typeof recommend>[0], number | null]>([
    [
      'a pod without a metric counts as idle while scaling up',
      [
        [OLD, 300],
        [OLD, null],
      ],
      3,
    ],
    [
      'a pod without a metric counts as at the target while scaling down',
      [
        [OLD, 20],
        [OLD, 20],
        [OLD, null],
      ],
      2,
    ],
    [
      'a step that this reverses is not taken',
      [
        [OLD, 150],
        [OLD, null],
      ],
      2,
    ],
    [
      'a young pod counts as idle while scaling up',
      [
        [OLD, 300],
        [YOUNG, 900],
      ],
      3,
    ],
    [
      'a starting pod counts as idle while scaling up',
      [
        [OLD, 300],
        [STARTING, 900],
      ],
      3,
    ],
    [
      'a young pod is left out while scaling down',
      [
        [OLD, 50],
        [OLD, 50],
        [YOUNG, 900],
      ],
      1,
    ],
    [
      'no pod with a metric decides nothing',
      [
        [STARTING, null],
        [YOUNG, 900],
      ],
      null,
    ],
  ])('%s', (_name, pods, replicas) => {
    expect(recommend(pods)).toBe(replicas);
  });
});

test.each([
  ['the total divided by the target, rounded up', 1.01, 2, 5],
  ['within 0.1 of the target of each replica', 0.54, 2, 2],
  ['above it', 0.56, 2, 3],
  ['no load', 0, 4, 0],
])('replicas for an external metric, target 0.25: %s', (_name, total, replicas, expected) => {
  expect(replicasForTotal(total, 0.25, replicas)).toBe(expected);
});

describe('the stabilizer', () => {
  const SECOND = 1_000;
  function run(
    steps: readonly (readonly [second: number, recommended: number | null])[],
    replicas = 2,
  ): number[] {
    const limits = { minReplicas: 2, maxReplicas: 20, scaleDownWindow: 300 * SECOND };
    const stabilizer = new Stabilizer(limits, PERIODS);
    let current = replicas;
    return steps.map(([second, wanted]) => (current = stabilizer.decide(second * SECOND, current, wanted)));
  }

  test('adds 4 replicas or 100 % in 15 s, whichever is more, up to the maximum', () => {
    expect(
      run([
        [0, 50],
        [10, 50],
        [15, 50],
        [30, 50],
      ]),
    ).toEqual([6, 6, 12, 20]);
  });

  test('removes replicas only down to the highest recommendation of the window, and to the minimum', () => {
    expect(
      run([
        [0, 5],
        [15, 1],
        [290, 4],
        [300, 1],
        [589, 1],
        [590, 1],
      ]),
    ).toEqual([5, 5, 5, 4, 4, 2]);
  });

  test('adds replicas at once, whatever it recommended before', () => {
    expect(
      run([
        [0, 2],
        [15, 3],
      ]),
    ).toEqual([2, 3]);
  });

  test('keeps the replicas without a recommendation', () => {
    expect(
      run([
        [0, 5],
        [400, null],
        [415, 3],
      ]),
    ).toEqual([5, 5, 3]);
  });

  test('brings replicas outside of the limits back', () => {
    expect(run([[0, null]], 1)).toEqual([2]);
    expect(run([[0, null]], 25)).toEqual([20]);
  });
});
