import { expect, test } from '@jest/globals';
import { countTurns } from './control-loop.ts';
import { PERIODS, replicasForTotal, Stabilizer } from './horizontal-pod-autoscaler.ts';

const STEP_SECONDS = PERIODS.sync / 1_000;
/** Checks per second of a checker that uses its whole core. */
const CAPACITY = 1_000;
const WAVES_PER_SECOND = 20;
/** Decisions within the two minutes over which Prometheus averages. */
const AVERAGED = 8;

interface Region {
  readonly load: number;
  readonly replicas: number;
  /** Checks that are due and not done. */
  readonly backlog: number;
  /** The cores that all checkers use, averaged. */
  readonly cores: number;
}

/** What a metric of a region recommends. */
const SIGNALS: Record<string, (region: Region) => number> = {
  cpu: ({ cores, replicas }) => replicasForTotal(cores, 0.5, replicas),
  /** A target of one second, as a Value: proportional to the current number. */
  lag: ({ backlog, replicas }) => Math.ceil((backlog / (replicas * CAPACITY)) * replicas),
  'waiting waves': ({ backlog, load, replicas }) =>
    replicasForTotal(backlog / (load / WAVES_PER_SECOND), 20, replicas),
};

/** Checkers of a region that are scaled by a signal, at 200, 3,000 and 200 checks per second. @returns their number at each decision */
function simulate(recommend: (region: Region) => number): number[] {
  const limits = { minReplicas: 2, maxReplicas: 10, scaleDownWindow: 300_000 };
  const stabilizer = new Stabilizer(limits, PERIODS);
  const used = Array.from({ length: AVERAGED }, () => 0);
  let backlog = 0;
  let replicas = limits.minReplicas;
  return [...fill(40, 200), ...fill(160, 3_000), ...fill(80, 200)].map((load, step) => {
    const done = Math.min(load + backlog / STEP_SECONDS, replicas * CAPACITY);
    backlog = Math.max(0, backlog + (load - done) * STEP_SECONDS);
    used.push(done / CAPACITY);
    const cores = used.slice(-AVERAGED).reduce((sum, one) => sum + one, 0) / AVERAGED;
    replicas = stabilizer.decide(
      step * PERIODS.sync,
      replicas,
      recommend({ load, replicas, backlog, cores }),
    );
    return replicas;
  });
}

function fill(length: number, load: number): number[] {
  return Array.from({ length }, () => load);
}

function turnsOf(replicas: readonly number[]): number {
  return countTurns(
    replicas
      .slice(1)
      .map((to, index) => ({ from: replicas[index] ?? 0, to }))
      .filter(({ from, to }) => from !== to),
  );
}

test('CPU as a signal settles at one number of checkers for each load', () => {
  const replicas = simulate((region) => SIGNALS['cpu']?.(region) ?? 0);
  expect(turnsOf(replicas)).toBe(0);
  // The load of three cores, at half a core each. The backlog of the first minutes needs one more, for as long as the window.
  expect(replicas.slice(80, 200)).toEqual(fill(120, 6));
  expect(replicas.at(-1)).toBe(2);
});

test.each(['lag', 'waiting waves'])(
  '%s as a signal oscillates: it says nothing while the checkers suffice',
  (name) => {
    expect(turnsOf(simulate((region) => SIGNALS[name]?.(region) ?? 0))).toBeGreaterThan(5);
  },
);
