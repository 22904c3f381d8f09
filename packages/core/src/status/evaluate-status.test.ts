import { describe, expect, test } from '@jest/globals';
import { fc } from '../testing/fast-check.ts';
import { FRESH_FOR_MS, MONITOR, NOW } from '../testing/monitor-states.ts';
import { MAX_AHEAD_MS } from './monitor-clock.ts';
import { evaluateStatus, impliedStatus, type RegionVerdict } from './evaluate-status.ts';

const rules = { ...MONITOR, failureThreshold: 3 };

/** @param ageMs age of the last result, or null without one */
function region(consecutiveFailures: number, ageMs: number | null = 0, assignedAgoMs = 0): RegionVerdict {
  return {
    consecutiveFailures,
    recoveryPasses: null,
    lastResultAt: ageMs === null ? null : NOW - ageMs,
    since: NOW - assignedAgoMs,
  };
}
const [passing, failing, unreported] = [region(0), region(3), region(0, null)];
const [stale, longUnreported] = [region(0, FRESH_FOR_MS), region(0, null, FRESH_FOR_MS)];

const anyRegion = fc.record({
  consecutiveFailures: fc.nat(6),
  recoveryPasses: fc.constant(null),
  lastResultAt: fc.option(fc.integer({ min: NOW - 2 * FRESH_FOR_MS, max: NOW })),
  since: fc.integer({ min: NOW - 2 * FRESH_FOR_MS, max: NOW }),
});

describe('impliedStatus', () => {
  test.each<[string, RegionVerdict[], 'UP' | 'DOWN' | null]>([
    ['one region below its threshold', [region(2)], 'UP'],
    ['one region at its threshold', [failing], 'DOWN'],
    ['one of two failing is no strict majority', [failing, passing], 'UP'],
    ['two of three failing', [failing, region(4), passing], 'DOWN'],
    ['one of three failing', [failing, passing, passing], 'UP'],
    ['a region that has not reported counts as passing', [failing, unreported, unreported], 'UP'],
    ['until it would be stale', [failing, longUnreported, longUnreported], 'DOWN'],
    ['a stale region does not count', [failing, stale], 'DOWN'],
    ['a nearly stale region counts', [failing, region(0, FRESH_FOR_MS - 1)], 'UP'],
    ['one whose time is far in the future does not count', [failing, region(0, -2 * MAX_AHEAD_MS)], 'DOWN'],
    ['all stale: the status stays', [region(3, FRESH_FOR_MS), stale], null],
    ['no region has reported: the status stays', [unreported, unreported], null],
    ['no regions at all', [], null],
  ])('%s', (_, regions, expected) => {
    expect(impliedStatus(rules, regions, NOW)).toBe(expected);
  });

  test('does not depend on the order of the regions, and more failures never turn DOWN into UP', () => {
    fc.assert(
      fc.property(fc.array(anyRegion, { minLength: 1 }), fc.nat(), (regions, pick) => {
        const before = impliedStatus(rules, regions, NOW);
        expect(impliedStatus(rules, regions.toReversed(), NOW)).toBe(before);
        const worse = regions.map((one, index) => {
          const added = index === pick % regions.length ? 1 : 0;
          return { ...one, consecutiveFailures: one.consecutiveFailures + added };
        });
        expect([before, impliedStatus(rules, worse, NOW)]).not.toEqual(['DOWN', 'UP']);
      }),
    );
  });
});

describe('evaluateStatus', () => {
  test.each<[string, RegionVerdict[], 'UP' | 'DOWN' | null]>([
    ['one passes', [passing], 'UP'],
    ['one of two passes', [passing, failing], 'UP'],
    ['one fails and another was added', [failing, unreported], null],
    ['two fail, one passes and two were added', [failing, failing, passing, unreported, unreported], null],
    ['below the threshold, but no check passed', [region(1)], null],
    ['the passing region is stale', [region(1), stale], null],
    ['still a majority fails', [failing, failing, passing], 'DOWN'],
    ['all stale', [stale], null],
  ])('from DOWN: %s', (_, regions, expected) => {
    expect(evaluateStatus(rules, 'DOWN', regions, NOW)).toBe(expected);
  });

  const recovering = { ...passing, recoveryPasses: 1 };

  test.each<[string, RegionVerdict[], RegionVerdict, 'UP' | 'DOWN' | null]>([
    ['a region that has not recovered yet passes', [passing, recovering, recovering], recovering, null],
    ['a region fails while another has not recovered yet', [passing, recovering, failing], failing, 'DOWN'],
    ['a region passes, and most have recovered', [passing, passing, recovering], recovering, 'UP'],
  ])('from UP: %s', (_, regions, witness, expected) => {
    expect(evaluateStatus({ ...rules, recoveryThreshold: 2 }, 'UP', regions, NOW, [witness])).toBe(expected);
  });

  test('recovery needs a recent check that passed, and every other status is the implied one', () => {
    fc.assert(
      fc.property(fc.array(anyRegion), (regions) => {
        const implied = impliedStatus(rules, regions, NOW);
        expect(evaluateStatus(rules, 'UP', regions, NOW)).toBe(implied);
        const status = evaluateStatus(rules, 'DOWN', regions, NOW);
        if (implied !== 'UP') expect(status).toBe(implied);
        const passed = regions.some(
          ({ consecutiveFailures, lastResultAt }) =>
            consecutiveFailures === 0 && lastResultAt !== null && NOW - lastResultAt < FRESH_FOR_MS,
        );
        if (!passed) expect(status).not.toBe('UP');
      }),
    );
  });

  test('a region that has not reported does not recover a monitor', () => {
    fc.assert(
      fc.property(fc.array(anyRegion), fc.nat(3), (regions, added) => {
        const more = [...regions, ...Array.from({ length: added }, () => unreported)];
        if (evaluateStatus(rules, 'DOWN', regions, NOW) === 'UP') return;
        expect(evaluateStatus(rules, 'DOWN', more, NOW)).not.toBe('UP');
      }),
    );
  });
});
