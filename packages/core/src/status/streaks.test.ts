import { expect, test } from '@jest/globals';
import { fc } from '../testing/fast-check.ts';
import { FAILED, MONITOR, NOW, PASSED, REGION } from '../testing/monitor-states.ts';
import { applyCheck, type MonitorState } from './apply-check.ts';
import { isFailing, needsRetry } from './evaluate-status.ts';

const CODES = ['ap', 'eu', 'us'] as const;

interface Thresholds {
  readonly failureThreshold: number;
  readonly recoveryThreshold: number;
}

interface Step {
  readonly region: number;
  readonly passed: boolean;
  /** Thresholds that change just before this result, or null. */
  readonly update: Thresholds | null;
}

const thresholds = fc.record({
  failureThreshold: fc.integer({ min: 1, max: 5 }),
  recoveryThreshold: fc.integer({ min: 1, max: 5 }),
});
const step = fc.record({
  region: fc.nat(2),
  passed: fc.boolean(),
  update: fc.option(thresholds, { freq: 10 }),
});
const steadyStep = fc.record({ region: fc.nat(2), passed: fc.boolean(), update: fc.constant(null) });
const steadySteps = fc.array(steadyStep, { maxLength: 60 });

/** Applies the steps in order. @returns the monitor and its regions after each step */
function applyAll(initial: Thresholds, regionCount: number, steps: readonly Step[]) {
  let monitor: MonitorState = { ...MONITOR, ...initial, status: 'PENDING' };
  let regions = CODES.slice(0, regionCount).map((code) => ({ ...REGION, region: code as string }));
  return steps.map(({ region, passed, update }, index) => {
    const code = regions[region % regionCount]?.region ?? '';
    monitor = { ...monitor, ...update };
    const check = { ...(passed ? PASSED : FAILED), region: code, slot: null };
    const effect = applyCheck(monitor, regions, check, NOW + index);
    if (effect.kind !== 'recorded') throw new Error(effect.kind);
    const after = effect.region;
    regions = regions.map((state) => (after && state.region === after.region ? after : state));
    monitor = { ...monitor, status: effect.status ?? monitor.status };
    return { monitor, regions };
  });
}

/** Reports whether n failures in a row came after the last m passes in a row. The newest result is last. */
function failsAfter(
  results: readonly boolean[],
  { failureThreshold, recoveryThreshold }: Thresholds,
): boolean {
  const ends = (end: number, length: number, passed: boolean): boolean =>
    end >= length && results.slice(end - length, end).every((result) => result === passed);
  return results.reduce<boolean>((failing, _, index) => {
    return failing ? !ends(index + 1, recoveryThreshold, true) : ends(index + 1, failureThreshold, false);
  }, false);
}

test('n failures in a row make a region fail, m passes in a row recover it, and the status follows from the regions', () => {
  fc.assert(
    fc.property(thresholds, fc.integer({ min: 1, max: 3 }), steadySteps, (rules, count, steps) => {
      let status = 'PENDING';
      for (const [index, { monitor, regions }] of applyAll(rules, count, steps).entries()) {
        const histories = regions.map((_, place) =>
          steps
            .slice(0, index + 1)
            .flatMap(({ region, passed }) => (region % count === place ? [passed] : [])),
        );
        for (const [place, state] of regions.entries()) {
          const results = histories[place] ?? [];
          const fails = failsAfter(results, rules);
          expect(isFailing(monitor, state)).toBe(fails);
          expect(needsRetry(monitor, state)).toBe(!fails && results.at(-1) === false);
        }
        const failing = histories.filter((results) => failsAfter(results, rules)).length;
        const reported = histories.filter((results) => results.length > 0).length;
        if (failing * 2 > count) status = 'DOWN';
        else if (status !== 'DOWN') status = 'UP';
        // A monitor recovers only by a check that passed.
        else if (steps[index]?.passed === true && failing * 2 <= reported) status = 'UP';
        expect(monitor.status).toBe(status);
      }
    }),
    { numRuns: 60 },
  );
});

/** The same rules as a state machine. If a region recovers because the thresholds are updated, it stays recovered. */
function machine(initial: Thresholds, steps: readonly Step[]): boolean[] {
  let [rules, failures, passes] = [initial, 0, 0];
  let state: 'ok' | 'failing' | 'recovering' = 'ok';
  return steps.map(({ passed, update }) => {
    if (update) {
      rules = update;
      if (state !== 'recovering') state = failures >= rules.failureThreshold ? 'failing' : 'ok';
      else if (passes >= rules.recoveryThreshold) state = 'ok';
    }
    failures = passed ? 0 : failures + 1;
    passes = passed ? passes + 1 : 0;
    if (passed && state !== 'ok') state = passes >= rules.recoveryThreshold ? 'ok' : 'recovering';
    if (!passed && failures >= rules.failureThreshold && state === 'ok') state = 'failing';
    return state !== 'ok';
  });
}

test('the streaks of a region follow updates of the thresholds midway', () => {
  fc.assert(
    fc.property(thresholds, fc.array(step, { maxLength: 60 }), (rules, steps) => {
      const states = applyAll(rules, 1, steps);
      const failing = states.map(({ monitor, regions: [state] }) => state && isFailing(monitor, state));
      expect(failing).toEqual(machine(rules, steps));
    }),
    { numRuns: 200 },
  );
});
