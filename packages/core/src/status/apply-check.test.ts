import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { PROPERTY_PARAMETERS } from '../testing/property-parameters.ts';
import {
  applyCheck,
  type CheckEffect,
  type CheckVerdict,
  type MonitorState,
  type RegionState,
} from './apply-check.ts';

fc.configureGlobal(PROPERTY_PARAMETERS);

const NOW = 1_800_000_000_000;

const monitor: MonitorState = {
  status: 'UP',
  probeRevision: 1,
  failureThreshold: 1,
  recoveryThreshold: 1,
  intervalSeconds: 60,
  timeoutSeconds: 10,
};

const region: RegionState = {
  region: 'eu',
  consecutiveFailures: 0,
  recoveryPasses: null,
  lastResultAt: null,
  since: NOW,
  recentSlots: [],
  lastLatencyMs: null,
  lastErrorReason: null,
  lastErrorDetail: null,
};

const down: CheckVerdict = {
  region: 'eu',
  revision: 1,
  slot: NOW,
  urlOverride: null,
  status: 'DOWN',
  latencyMs: 0,
  errorReason: 'CONNECTION_REFUSED',
  errorDetail: null,
  network: null,
};
const up: CheckVerdict = { ...down, status: 'UP', latencyMs: 12, errorReason: null };

describe('applyCheck', () => {
  test.each<[string, MonitorState['status'], CheckVerdict, 'UP' | 'DOWN' | null]>([
    ['the first check ends PENDING: passing', 'PENDING', up, 'UP'],
    ['the first check ends PENDING: failing', 'PENDING', down, 'DOWN'],
    ['a failure at the threshold', 'UP', down, 'DOWN'],
    ['a recovery', 'DOWN', up, 'UP'],
    ['still up', 'UP', up, null],
    ['still down', 'DOWN', down, null],
    ['maintenance hides a failure', 'MAINTENANCE', down, null],
    ['maintenance hides a recovery', 'MAINTENANCE', up, null],
  ])('%s', (_, status, check, expected) => {
    const effect = applyCheck({ ...monitor, status }, [region], check, NOW);
    expect(effect).toMatchObject({ kind: 'recorded', status: expected });
  });

  test('PENDING becomes UP while failures are below the threshold', () => {
    const pending: MonitorState = { ...monitor, status: 'PENDING', failureThreshold: 3 };
    expect(applyCheck(pending, [region], down, NOW)).toMatchObject({ status: 'UP' });
  });

  test('a result of a recorded slot is a duplicate; a triggered check never is', () => {
    const seen = { ...region, recentSlots: [NOW] };
    expect(applyCheck(monitor, [seen], down, NOW)).toEqual({ kind: 'duplicate' });
    expect(applyCheck(monitor, [seen], { ...down, slot: null }, NOW)).toMatchObject({ kind: 'recorded' });
  });

  test('a check with a URL override changes nothing', () => {
    const check = { ...down, slot: null, urlOverride: 'https://preview.example' };
    expect(applyCheck({ ...monitor, status: 'PENDING' }, [region], check, NOW)).toEqual({
      kind: 'recorded',
      region: null,
      awaited: [],
      status: null,
    });
  });

  test('a late result of an older probe changes no status, but its slot is remembered', () => {
    const effect = applyCheck({ ...monitor, probeRevision: 2 }, [region], down, NOW);
    expect(effect).toEqual({
      kind: 'recorded',
      region: { ...region, recentSlots: [NOW] },
      awaited: [],
      status: null,
    });
  });

  test('a result of a region that is no longer assigned is recorded and changes nothing', () => {
    expect(applyCheck(monitor, [], down, NOW)).toEqual({
      kind: 'recorded',
      region: null,
      awaited: [],
      status: null,
    });
  });

  test('a failure is counted, a success resets the count, and the last result is kept', () => {
    const failed = applyCheck(monitor, [{ ...region, consecutiveFailures: 4 }], down, NOW);
    expect(failed).toMatchObject({
      region: { consecutiveFailures: 5, lastResultAt: NOW, lastErrorReason: 'CONNECTION_REFUSED' },
    });
    const passed = applyCheck(monitor, [{ ...region, consecutiveFailures: 4 }], up, NOW);
    expect(passed).toMatchObject({ region: { consecutiveFailures: 0, lastLatencyMs: 12 } });
  });

  test('only the last few slots are remembered', () => {
    const many = { ...region, recentSlots: [1, 2, 3, 4, 5, 6, 7, 8] };
    expect(applyCheck(monitor, [many], down, NOW)).toMatchObject({
      region: { recentSlots: [2, 3, 4, 5, 6, 7, 8, NOW] },
    });
  });

  test('a failing check never recovers a monitor whose streak was reset', () => {
    const strict: MonitorState = { ...monitor, status: 'DOWN', failureThreshold: 3 };
    expect(applyCheck(strict, [region], down, NOW)).toMatchObject({ status: null });
    expect(applyCheck(strict, [region], up, NOW)).toMatchObject({ status: 'UP' });
  });

  test('a single region is DOWN exactly while the last `threshold` results failed since it went down', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
        (failureThreshold, results) => {
          let state = region;
          let status: MonitorState['status'] = 'PENDING';
          let streak = 0;
          for (const [index, passed] of results.entries()) {
            const check = { ...(passed ? up : down), slot: NOW + index };
            const effect = applyCheck({ ...monitor, status, failureThreshold }, [state], check, NOW + index);
            if (effect.kind !== 'recorded' || effect.region === null) throw new Error('not recorded');
            state = effect.region;
            status = effect.status ?? status;
            streak = passed ? 0 : streak + 1;
            expect(status).toBe(streak >= failureThreshold ? 'DOWN' : 'UP');
          }
        },
      ),
    );
  });
});

const FRESH_FOR_MS = (3 * 60 + 10) * 1_000;

describe('the network of a region', () => {
  const codes = ['eu', 'us', 'ap'] as const;
  const time = fc.integer({ min: NOW - 3 * FRESH_FOR_MS, max: NOW });
  const states = fc.tuple(
    ...codes.map((code) =>
      fc.record<RegionState>({
        region: fc.constant(code),
        consecutiveFailures: fc.nat(4),
        recoveryPasses: fc.option(fc.nat(3)),
        lastResultAt: fc.option(time),
        since: time,
        recentSlots: fc.uniqueArray(fc.integer({ min: NOW - 9, max: NOW }), { maxLength: 8 }),
        lastLatencyMs: fc.constant(7),
        lastErrorReason: fc.constant(null),
        lastErrorDetail: fc.constant(null),
      }),
    ),
  );
  const monitors = fc.record<MonitorState>({
    status: fc.constantFrom('PENDING', 'UP', 'DOWN', 'MAINTENANCE'),
    probeRevision: fc.integer({ min: 1, max: 2 }),
    failureThreshold: fc.integer({ min: 1, max: 4 }),
    recoveryThreshold: fc.integer({ min: 1, max: 4 }),
    intervalSeconds: fc.constant(60),
    timeoutSeconds: fc.constant(10),
  });
  const checks = fc.record({
    region: fc.constantFrom(...codes, 'elsewhere'),
    slot: fc.option(fc.integer({ min: NOW - 9, max: NOW + 9 })),
    urlOverride: fc.option(fc.constant('https://preview.example'), { freq: 9 }),
  });
  const always = (assertion: (conclusive: CheckEffect, given: Given) => void): void =>
    fc.assert(
      fc.property(monitors, states, checks, (rules, regions, fields) => {
        const check = { ...down, ...fields };
        assertion(applyCheck(rules, regions, check, NOW), {
          check,
          rules,
          before: regions.find((state) => state.region === check.region),
          apply: (network) => applyCheck(rules, regions, { ...check, network }, NOW),
        });
      }),
      { numRuns: 2_000 },
    );
  interface Given {
    readonly check: CheckVerdict;
    readonly rules: MonitorState;
    readonly before: RegionState | undefined;
    readonly apply: (network: CheckVerdict['network']) => CheckEffect;
  }
  const regionOf = (effect: CheckEffect): RegionState | null =>
    effect.kind === 'recorded' ? effect.region : null;

  test('is awaited exactly by a result that counts and makes its region fail', () => {
    const seen = new Set<string>();
    always((conclusive, { rules, apply }) => {
      const after = regionOf(conclusive);
      const counts = after?.lastResultAt === NOW && after.lastErrorReason === down.errorReason;
      const fails = counts && after.consecutiveFailures >= rules.failureThreshold;
      const recovers =
        counts && after.recoveryPasses !== null && after.recoveryPasses < rules.recoveryThreshold;
      const expected: CheckEffect = fails || recovers ? { kind: 'unproven' } : conclusive;
      expect(apply('unproven')).toEqual(expected);
      seen.add(expected.kind);
    });
    expect(seen).toEqual(new Set(['recorded', 'duplicate', 'unproven']));
  });

  test('changes nothing but the remembered slots if no canary responded', () => {
    always((conclusive, { before, apply }) => {
      const after = regionOf(conclusive);
      const region = before && after && { ...before, recentSlots: after.recentSlots };
      expect(apply('isolated')).toEqual(
        conclusive.kind === 'recorded'
          ? { kind: 'recorded', region: region ?? null, awaited: [], status: null }
          : conclusive,
      );
    });
  });
});

describe('after a silence of all regions', () => {
  const silent = (code: string, consecutiveFailures: number): RegionState => ({
    ...region,
    region: code,
    consecutiveFailures,
    lastResultAt: NOW - FRESH_FOR_MS,
    since: NOW - 10 * FRESH_FOR_MS,
  });

  test('the first region to report does not decide alone: the others keep their streaks and are awaited', () => {
    const regions = [silent('eu', 5), silent('us', 0), silent('ap', 2)];
    expect(applyCheck(monitor, regions, down, NOW)).toMatchObject({
      status: null,
      awaited: [
        { region: 'us', lastResultAt: null, since: NOW, consecutiveFailures: 0 },
        { region: 'ap', lastResultAt: null, since: NOW, consecutiveFailures: 2 },
      ],
    });
  });

  test('a region that was just assigned, or reported lately, stays unchanged', () => {
    const assigned = { ...region, region: 'us' };
    expect(applyCheck(monitor, [silent('eu', 0), assigned], down, NOW)).toMatchObject({ awaited: [] });
    const fresh = { ...silent('us', 0), lastResultAt: NOW - FRESH_FOR_MS + 1 };
    const effect = applyCheck(monitor, [silent('eu', 0), fresh, silent('ap', 0)], down, NOW);
    expect(effect).toMatchObject({ awaited: [] });
  });

  test('other regions are awaited during maintenance too, for the evaluation at its end', () => {
    const covered: MonitorState = { ...monitor, status: 'MAINTENANCE' };
    const effect = applyCheck(covered, [silent('eu', 0), silent('us', 0)], down, NOW);
    expect(effect).toMatchObject({ awaited: [{ region: 'us' }] });
  });
});

describe('for any reports of three regions, with pauses of any length', () => {
  const step = fc.record({
    region: fc.constantFrom('eu', 'us', 'ap'),
    passed: fc.boolean(),
    waitMs: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 60_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: FRESH_FOR_MS, max: 3 * FRESH_FOR_MS }) },
    ),
  });
  const stories = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.array(step, { minLength: 1, maxLength: 60 }));

  test('DOWN needs a failing check and a majority, UP needs a check that passed', () => {
    fc.assert(
      fc.property(stories, ([failureThreshold, steps]) => {
        let status: MonitorState['status'] = 'UP';
        let now = NOW;
        const states = new Map(['eu', 'us', 'ap'].map((code) => [code, { ...region, region: code }]));
        // Just assigned, they have time to report, as after a silence.
        let silentSince = NOW;
        let lastAt = NOW;
        for (const { region: code, passed, waitMs } of steps) {
          now += waitMs;
          if (now - lastAt >= FRESH_FOR_MS) silentSince = now;
          lastAt = now;
          const check = { ...(passed ? up : down), region: code, slot: null };
          const rules = { ...monitor, status, failureThreshold };
          const effect = applyCheck(rules, [...states.values()], check, now);
          if (effect.kind !== 'recorded' || effect.region === null) throw new Error('not recorded');
          for (const state of [effect.region, ...effect.awaited]) states.set(state.region, state);
          if (effect.status === 'UP') expect(passed).toBe(true);
          if (effect.status === 'DOWN') {
            expect(passed).toBe(false);
            // A second region agrees, or has had time to report since the silence ended.
            const failing = [...states.values()].filter(
              (one) => one.lastResultAt !== null && one.consecutiveFailures >= failureThreshold,
            );
            expect(failing.length >= 2 || now - silentSince >= FRESH_FOR_MS).toBe(true);
          }
          status = effect.status ?? status;
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
