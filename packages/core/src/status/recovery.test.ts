import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { PROPERTY_PARAMETERS } from '../testing/property-parameters.ts';
import { impliedStatus, evaluateStatus, type RegionVerdict } from './evaluate-status.ts';

fc.configureGlobal(PROPERTY_PARAMETERS);

const NOW = 1_800_000_000_000;
const FRESH_FOR_MS = (3 * 60 + 10) * 1_000;
const rules = { failureThreshold: 3, recoveryThreshold: 1, intervalSeconds: 60, timeoutSeconds: 10 };

function region(consecutiveFailures: number, ageMs: number | null = 0): RegionVerdict {
  return {
    consecutiveFailures,
    recoveryPasses: null,
    lastResultAt: ageMs === null ? null : NOW - ageMs,
    since: NOW,
  };
}
const [passing, failing, unreported] = [region(0), region(3), region(0, null)];

test.each<[string, RegionVerdict[], 'UP' | 'DOWN' | null]>([
  ['one passes', [passing], 'UP'],
  ['one of two passes', [passing, failing], 'UP'],
  ['one fails and another was added', [failing, unreported], null],
  ['two fail, one passes and two were added', [failing, failing, passing, unreported, unreported], null],
  ['below the threshold, but no check passed', [region(1)], null],
  ['the one that passed is stale', [region(1), region(0, FRESH_FOR_MS)], null],
  ['still a majority fails', [failing, failing, passing], 'DOWN'],
  ['all stale', [region(0, FRESH_FOR_MS)], null],
])('from DOWN: %s', (_, regions, expected) => {
  expect(evaluateStatus(rules, 'DOWN', regions, NOW)).toBe(expected);
});

const recovering = { ...region(0), recoveryPasses: 1 };

test.each<[string, RegionVerdict[], RegionVerdict, 'UP' | 'DOWN' | null]>([
  ['a region that has not recovered yet passes', [passing, recovering, recovering], recovering, null],
  ['a region fails while another has not recovered yet', [passing, recovering, failing], failing, 'DOWN'],
  ['a region passes, and most have recovered', [passing, passing, recovering], recovering, 'UP'],
])('from UP: %s', (_, regions, witness, expected) => {
  expect(evaluateStatus({ ...rules, recoveryThreshold: 2 }, 'UP', regions, NOW, [witness])).toBe(expected);
});

const anyRegion = fc.record({
  consecutiveFailures: fc.nat(4),
  recoveryPasses: fc.constant(null),
  lastResultAt: fc.option(fc.integer({ min: NOW - 2 * FRESH_FOR_MS, max: NOW })),
  since: fc.integer({ min: NOW - 2 * FRESH_FOR_MS, max: NOW }),
});

test('recovery needs a recent check that passed; every other status is the implied one', () => {
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
      if (evaluateStatus(rules, 'DOWN', regions, NOW) !== 'UP') {
        expect(evaluateStatus(rules, 'DOWN', more, NOW)).not.toBe('UP');
      }
    }),
  );
});
