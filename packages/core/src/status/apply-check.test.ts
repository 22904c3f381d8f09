import { describe, expect, test } from '@jest/globals';
import { fc } from '../testing/fast-check.ts';
import {
  FAILED as down,
  FRESH_FOR_MS,
  MONITOR as monitor,
  NOW,
  PASSED as up,
  REGION as region,
} from '../testing/monitor-states.ts';
import {
  applyCheck,
  type CheckEffect,
  type CheckVerdict,
  type MonitorState,
  type RegionState,
} from './apply-check.ts';
import { hasFreshResult, isFailing } from './evaluate-status.ts';

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

  test('a result of a recorded slot is a duplicate, but a triggered check never is', () => {
    const seen = { ...region, recentSlots: [NOW] };
    expect(applyCheck(monitor, [seen], down, NOW)).toEqual({ kind: 'duplicate' });
    expect(applyCheck(monitor, [seen], { ...down, slot: null }, NOW)).toMatchObject({ kind: 'recorded' });
  });

  test('while a region recovers, its last failure stays the cause of DOWN', () => {
    const rules: MonitorState = { ...monitor, status: 'DOWN', recoveryThreshold: 2 };
    const failed = {
      lastLatencyMs: 0,
      lastErrorReason: 'CONNECTION_REFUSED',
      lastErrorDetail: null,
    } as const;
    const once = applyCheck(rules, [{ ...region, consecutiveFailures: 1, ...failed }], up, NOW);
    expect(once).toMatchObject({ status: null, region: { ...failed, recoveryPasses: 1, lastResultAt: NOW } });
    const before = once.kind === 'recorded' && once.region ? once.region : region;
    const again = applyCheck(rules, [before], { ...up, slot: NOW + 1 }, NOW + 1);
    const passed = { lastLatencyMs: 12, lastErrorReason: null, recoveryPasses: null };
    expect(again).toMatchObject({ status: 'UP', region: passed });
  });

  test.each<[string, MonitorState, RegionState[], CheckVerdict, RegionState | null]>([
    [
      'a check with a URL override',
      { ...monitor, status: 'PENDING' },
      [region],
      { ...down, slot: null, urlOverride: 'https://preview.example' },
      null,
    ],
    ['a result of a region that is no longer assigned', monitor, [], down, null],
    [
      'a late result of an older probe, of which only the slot is remembered',
      { ...monitor, probeRevision: 2 },
      [region],
      down,
      { ...region, recentSlots: [NOW] },
    ],
    [
      'a result of a slot before the newest one',
      monitor,
      [{ ...region, recentSlots: [NOW - 1, NOW + 1] }],
      down,
      { ...region, recentSlots: [NOW - 1, NOW + 1, NOW] },
    ],
    ['a late result of a trigger', monitor, [region], { ...down, slot: null, isLate: true }, region],
  ])('%s is recorded and changes nothing', (_, rules, regions, check, expected) => {
    const effect = { kind: 'recorded', inconclusive: false, region: expected, restarted: [], status: null };
    expect(applyCheck(rules, regions, check, NOW)).toEqual(effect);
  });

  test('a failure is counted, a success resets the count, and the last result is kept', () => {
    const failed = applyCheck(monitor, [{ ...region, consecutiveFailures: 4 }], down, NOW);
    expect(failed).toMatchObject({
      region: { consecutiveFailures: 5, lastResultAt: NOW, lastErrorReason: 'CONNECTION_REFUSED' },
    });
    const passed = applyCheck(monitor, [{ ...region, consecutiveFailures: 4 }], up, NOW);
    expect(passed).toMatchObject({ region: { consecutiveFailures: 0, lastLatencyMs: 12 } });
  });

  test('a slot of a clock that is far ahead does not outdate other results', () => {
    const ahead = { ...region, recentSlots: [NOW + 10_001] };
    expect(applyCheck(monitor, [ahead], down, NOW)).toMatchObject({ status: 'DOWN' });
  });

  test('only the last few slots are remembered', () => {
    const many = { ...region, recentSlots: [1, 2, 3, 4, 5, 6, 7, 8] };
    expect(applyCheck(monitor, [many], down, NOW)).toMatchObject({
      region: { recentSlots: [2, 3, 4, 5, 6, 7, 8, NOW] },
    });
  });
});

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
        doubtful: fc.boolean(),
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
    enabled: fc.constant(true),
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

  test('must be proven before a failure counts, unless the region already fails; an inconclusive result records only its slot', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(monitors, states, checks, (rules, regions, fields) => {
        const apply = (network: CheckVerdict['network']): CheckEffect =>
          applyCheck(rules, regions, { ...down, ...fields, network }, NOW);
        const before = regions.find((state) => state.region === fields.region);
        const conclusive = apply(null);
        const after = conclusive.kind === 'recorded' ? conclusive.region : null;

        const counts = after?.lastResultAt === NOW && after.lastErrorReason === down.errorReason;
        const isProven =
          before !== undefined && isFailing(rules, before) && hasFreshResult(rules, before, NOW);
        const waits = counts && !isProven;
        const unproven: CheckEffect = waits ? { kind: 'unproven' } : conclusive;
        expect(apply('unproven')).toEqual(unproven);
        seen.add(unproven.kind);

        const inconclusive = (isDoubtful: boolean): CheckEffect => {
          if (conclusive.kind !== 'recorded') return conclusive;
          const doubtful = counts ? isDoubtful : before?.doubtful;
          const kept = before && after && { ...before, recentSlots: after.recentSlots };
          const region = kept && { ...kept, doubtful: doubtful === true };
          return {
            kind: 'recorded',
            inconclusive: true,
            region: region ?? null,
            restarted: [],
            status: null,
          };
        };
        const wasDoubtful = before?.doubtful === true;
        expect(apply('isolated')).toEqual(inconclusive(false));
        expect(apply('unavailable')).toEqual(inconclusive(wasDoubtful));
        expect(apply('doubtful')).toEqual(wasDoubtful ? conclusive : inconclusive(true));
      }),
      { numRuns: 300 },
    );
    expect(seen).toEqual(new Set(['recorded', 'duplicate', 'unproven']));
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

  test('the first region to report does not decide alone: the others keep their streaks and count as just assigned', () => {
    const regions = [silent('eu', 5), silent('us', 0), silent('ap', 2)];
    expect(applyCheck(monitor, regions, down, NOW)).toMatchObject({
      status: null,
      restarted: [
        { region: 'us', lastResultAt: null, since: NOW, consecutiveFailures: 0 },
        { region: 'ap', lastResultAt: null, since: NOW, consecutiveFailures: 2 },
      ],
    });
  });

  test('a region that was just assigned, or has reported recently, stays unchanged', () => {
    const assigned = { ...region, region: 'us' };
    expect(applyCheck(monitor, [silent('eu', 0), assigned], down, NOW)).toMatchObject({ restarted: [] });
    const fresh = { ...silent('us', 0), lastResultAt: NOW - FRESH_FOR_MS + 1 };
    const effect = applyCheck(monitor, [silent('eu', 0), fresh, silent('ap', 0)], down, NOW);
    expect(effect).toMatchObject({ restarted: [] });
  });

  test('other regions count as just assigned during maintenance too, for the evaluation at its end', () => {
    const covered: MonitorState = { ...monitor, status: 'MAINTENANCE' };
    const effect = applyCheck(covered, [silent('eu', 0), silent('us', 0)], down, NOW);
    expect(effect).toMatchObject({ restarted: [{ region: 'us' }] });
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
        // Regions that were just assigned have time to report, as after a silence.
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
          for (const state of [effect.region, ...effect.restarted]) states.set(state.region, state);
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
      { numRuns: 300 },
    );
  });
});
