import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { PROPERTY_PARAMETERS } from '../testing/property-parameters.ts';
import { applyCheck, type CheckVerdict, type MonitorState, type RegionState } from './apply-check.ts';
import { isFailing, isUnconfirmed } from './evaluate-status.ts';

fc.configureGlobal(PROPERTY_PARAMETERS);

const NOW = 1_800_000_000_000;
const CODES = ['ap', 'eu', 'us'] as const;

interface Thresholds {
  readonly failureThreshold: number;
  readonly recoveryThreshold: number;
}

interface Step {
  readonly region: number;
  readonly passed: boolean;
  /** New thresholds from just before this result; null: the same. */
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
const steadySteps = fc.array(
  fc.record({ region: fc.nat(2), passed: fc.boolean(), update: fc.constant(null) }),
  {
    maxLength: 60,
  },
);

function newRegion(region: string): RegionState {
  return {
    region,
    consecutiveFailures: 0,
    recoveryPasses: null,
    lastResultAt: null,
    since: NOW,
    recentSlots: [],
    lastLatencyMs: null,
    lastErrorReason: null,
    lastErrorDetail: null,
  };
}

function checkOf(region: string, passed: boolean): CheckVerdict {
  return {
    region,
    revision: 1,
    slot: null,
    urlOverride: null,
    status: passed ? 'UP' : 'DOWN',
    latencyMs: 1,
    errorReason: passed ? null : 'HTTP_500',
    errorDetail: null,
    network: null,
  };
}

/** Applies the steps one after the other. @returns the monitor and its regions after each */
function applyAll(initial: Thresholds, regionCount: number, steps: readonly Step[]) {
  let monitor: MonitorState = {
    ...initial,
    intervalSeconds: 60,
    timeoutSeconds: 10,
    status: 'PENDING',
    probeRevision: 1,
  };
  let regions = CODES.slice(0, regionCount).map((code) => newRegion(code));
  return steps.map(({ region, passed, update }, index) => {
    const code = regions[region % regionCount]?.region ?? '';
    monitor = { ...monitor, ...update };
    const effect = applyCheck(monitor, regions, checkOf(code, passed), NOW + index);
    if (effect.kind !== 'recorded') throw new Error(effect.kind);
    const after = effect.region;
    regions = regions.map((state) => (state.region === after?.region ? after : state));
    monitor = { ...monitor, status: effect.status ?? monitor.status };
    return { monitor, regions };
  });
}

/** Whether a region fails after its results, the newest last: n failures in a row came after the last m passes in a row. */
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

describe('the streaks of a region', () => {
  test('n failures in a row make it fail, and m passes in a row recover it', () => {
    fc.assert(
      fc.property(thresholds, fc.integer({ min: 1, max: 3 }), steadySteps, (rules, count, steps) => {
        for (const [index, { monitor, regions }] of applyAll(rules, count, steps).entries()) {
          for (const [place, state] of regions.entries()) {
            const own = steps.slice(0, index + 1).filter(({ region }) => region % count === place);
            const results = own.map(({ passed }) => passed);
            const fails = failsAfter(results, rules);
            expect(isFailing(monitor, state)).toBe(fails);
            expect(isUnconfirmed(monitor, state)).toBe(!fails && results.at(-1) === false);
          }
        }
      }),
    );
  });

  test('with a recovery threshold of 1, only the last failures count', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), steadySteps, (failureThreshold, steps) => {
        const states = applyAll({ failureThreshold, recoveryThreshold: 1 }, 1, steps);
        for (const [index, { monitor, regions }] of states.entries()) {
          const results = steps.slice(0, index + 1).map(({ passed }) => passed);
          const failures = index - results.lastIndexOf(true);
          const [state] = regions;
          expect(state).toMatchObject({ consecutiveFailures: failures, recoveryPasses: null });
          expect(monitor.status).toBe(failures >= failureThreshold ? 'DOWN' : 'UP');
        }
      }),
    );
  });

  /** The same rules as a machine with three states. An update counts at once, and a region that has recovered by it stays so. */
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

  test('follow updates of the thresholds midway', () => {
    fc.assert(
      fc.property(thresholds, fc.array(step, { maxLength: 60 }), (rules, steps) => {
        const states = applyAll(rules, 1, steps);
        const failing = states.map(({ monitor, regions: [state] }) => state && isFailing(monitor, state));
        expect(failing).toEqual(machine(rules, steps));
      }),
      { numRuns: 500 },
    );
  });
});

test('the status of a monitor follows from its regions, and recovers only by a check that passed', () => {
  fc.assert(
    fc.property(thresholds, fc.integer({ min: 1, max: 3 }), steadySteps, (rules, count, steps) => {
      let status = 'PENDING';
      for (const [index, { monitor }] of applyAll(rules, count, steps).entries()) {
        const histories = CODES.slice(0, count).map((_, place) =>
          steps
            .slice(0, index + 1)
            .flatMap(({ region, passed }) => (region % count === place ? [passed] : [])),
        );
        const failing = histories.filter((results) => failsAfter(results, rules)).length;
        const reported = histories.filter((results) => results.length > 0).length;
        if (failing * 2 > count) status = 'DOWN';
        else if (status !== 'DOWN') status = 'UP';
        else if (steps[index]?.passed === true && failing * 2 <= reported) status = 'UP';
        expect(monitor.status).toBe(status);
      }
    }),
  );
});
