import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { PROPERTY_PARAMETERS } from '../testing/property-parameters.ts';
import { impliedStatus, type RegionVerdict } from './evaluate-status.ts';

fc.configureGlobal(PROPERTY_PARAMETERS);

const NOW = 1_800_000_000_000;
const rules = { failureThreshold: 3, recoveryThreshold: 1, intervalSeconds: 60, timeoutSeconds: 10 };
const FRESH_FOR_MS = (3 * 60 + 10) * 1_000;

function region(consecutiveFailures: number, ageMs: number | null, assignedAgoMs = 0): RegionVerdict {
  return {
    consecutiveFailures,
    recoveryPasses: null,
    lastResultAt: ageMs === null ? null : NOW - ageMs,
    since: NOW - assignedAgoMs,
  };
}

describe('impliedStatus', () => {
  test.each<[string, RegionVerdict[], 'UP' | 'DOWN' | null]>([
    ['one region below its threshold', [region(2, 0)], 'UP'],
    ['one region at its threshold', [region(3, 0)], 'DOWN'],
    ['one of two failing is no strict majority', [region(3, 0), region(0, 0)], 'UP'],
    ['two of three failing', [region(3, 0), region(4, 0), region(0, 0)], 'DOWN'],
    ['one of three failing', [region(3, 0), region(0, 0), region(0, 0)], 'UP'],
    [
      'a region that has not reported counts as passing',
      [region(3, 0), region(0, null), region(0, null)],
      'UP',
    ],
    [
      'until it would be stale',
      [region(3, 0), region(0, null, FRESH_FOR_MS), region(0, null, FRESH_FOR_MS)],
      'DOWN',
    ],
    ['a stale region does not count', [region(3, 0), region(0, FRESH_FOR_MS)], 'DOWN'],
    ['a nearly stale region counts', [region(3, 0), region(0, FRESH_FOR_MS - 1)], 'UP'],
    ['all stale: the status stays', [region(3, FRESH_FOR_MS), region(0, FRESH_FOR_MS)], null],
    ['no region has reported: the status stays', [region(0, null), region(0, null)], null],
    ['no regions at all', [], null],
  ])('%s', (_, regions, expected) => {
    expect(impliedStatus(rules, regions, NOW)).toBe(expected);
  });

  const anyRegion = fc.record({
    consecutiveFailures: fc.nat(6),
    lastResultAt: fc.option(fc.integer({ min: NOW - 2 * FRESH_FOR_MS, max: NOW })),
    recoveryPasses: fc.constant(null),
    since: fc.integer({ min: NOW - 2 * FRESH_FOR_MS, max: NOW }),
  });

  test('does not depend on the order of the regions', () => {
    fc.assert(
      fc.property(fc.array(anyRegion), (regions) => {
        expect(impliedStatus(rules, regions.toReversed(), NOW)).toBe(impliedStatus(rules, regions, NOW));
      }),
    );
  });

  test('more failures never turn DOWN into UP', () => {
    fc.assert(
      fc.property(fc.array(anyRegion, { minLength: 1 }), fc.nat(), (regions, pick) => {
        const worse = regions.map((one, index) =>
          index === pick % regions.length
            ? { ...one, consecutiveFailures: one.consecutiveFailures + 1 }
            : one,
        );
        const before = impliedStatus(rules, regions, NOW);
        const after = impliedStatus(rules, worse, NOW);
        expect([before, after]).not.toEqual(['DOWN', 'UP']);
      }),
    );
  });
});
