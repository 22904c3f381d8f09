import { describe, expect, test } from '@jest/globals';
import type { RegionState } from './apply-check.ts';
import { coveredAfterCheck, type CoveredStatus, leaveMaintenance, maintenanceEntry } from './maintenance.ts';

const NOW = 1_800_000_000_000;
const rules = {
  failureThreshold: 1,
  recoveryThreshold: 1,
  intervalSeconds: 60,
  timeoutSeconds: 10,
  probeRevision: 1,
};
const unchecked: RegionState = {
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
const passing: RegionState = { ...unchecked, lastResultAt: NOW - 5_000, lastLatencyMs: 12 };
const failing: RegionState = {
  ...passing,
  region: 'us',
  consecutiveFailures: 1,
  lastLatencyMs: 31,
  lastErrorReason: 'HTTP_500',
};
const stale: RegionState = { ...failing, lastResultAt: NOW - 3_600_000 };

describe('leaveMaintenance', () => {
  test.each<[string, CoveredStatus, RegionState, CoveredStatus, boolean]>([
    ['DOWN now, UP before', 'UP', failing, 'DOWN', true],
    ['DOWN now, DOWN before', 'DOWN', failing, 'DOWN', true],
    ['DOWN now, PENDING before', 'PENDING', failing, 'DOWN', true],
    ['UP now, DOWN before', 'DOWN', passing, 'UP', true],
    ['UP now, UP before', 'UP', passing, 'UP', false],
    ['UP now, PENDING before', 'PENDING', passing, 'UP', false],
    ['nothing checked, PENDING before', 'PENDING', unchecked, 'PENDING', false],
    ['stale, UP before', 'UP', stale, 'UP', false],
    ['stale, DOWN before', 'DOWN', stale, 'DOWN', false],
  ])('%s', (_, before, region, to, announced) => {
    expect(leaveMaintenance(rules, before, [region], NOW)).toMatchObject({ to, announced });
  });

  test.each<[string, RegionState[]]>([
    ['a streak that was reset and has a failure', [failing]],
    ['a region that was added and has not reported', [{ ...failing, consecutiveFailures: 3 }, unchecked]],
    ['a region that passed long ago', [failing, { ...passing, lastResultAt: NOW - 3_600_000 }]],
  ])('recovers only by a check that passed: %s', (_, regions) => {
    const strict = { ...rules, failureThreshold: 3 };
    expect(leaveMaintenance(strict, 'DOWN', regions, NOW)).toMatchObject({ to: 'DOWN', announced: false });
  });

  test('names a current check as the cause rather than one of hours ago', () => {
    const old = { ...failing, region: 'ap', lastResultAt: NOW - 3_600_000, lastLatencyMs: 99 };
    const exit = leaveMaintenance(rules, 'UP', [old, failing], NOW);
    expect(exit.check).toMatchObject({ region: 'us', latencyMs: 31 });
  });

  test('names the last check of a region with that status', () => {
    const other = { ...failing, region: 'ap', lastResultAt: NOW - 1_000, lastLatencyMs: 99 };
    expect(leaveMaintenance(rules, 'UP', [passing, failing, other], NOW).check).toEqual({
      region: 'ap',
      latencyMs: 99,
      errorReason: 'HTTP_500',
      errorDetail: null,
    });
    expect(leaveMaintenance(rules, 'DOWN', [passing], NOW).check).toEqual({
      region: 'eu',
      latencyMs: 12,
      errorReason: null,
      errorDetail: null,
    });
  });
});

test('maintenanceEntry names the first region of the monitor’s list, or the region that checks it', () => {
  const expected = { latencyMs: 0, errorReason: null, errorDetail: null };
  expect(maintenanceEntry(['us', 'eu'], [passing, failing])).toEqual({ region: 'us', ...expected });
  expect(maintenanceEntry([], [passing])).toEqual({ region: 'eu', ...expected });
});

describe('coveredAfterCheck', () => {
  const completed = {
    kind: 'recorded',
    region: { ...failing, lastResultAt: NOW },
    awaited: [],
    status: null,
  } as const;
  test.each([
    ['the first completed check ends PENDING', 'PENDING', completed, 'UP'],
    ['a late result of an older probe does not', 'PENDING', { ...completed, region: failing }, 'PENDING'],
    ['one with a URL override does not', 'PENDING', { ...completed, region: null }, 'PENDING'],
    ['a duplicate does not', 'PENDING', { kind: 'duplicate' }, 'PENDING'],
    ['UP stays', 'UP', completed, 'UP'],
    ['DOWN stays', 'DOWN', completed, 'DOWN'],
    ['nothing is covered outside of maintenance', null, completed, null],
  ] as const)('%s', (_, before, effect, expected) => {
    expect(coveredAfterCheck(before, effect, NOW)).toBe(expected);
  });
});
