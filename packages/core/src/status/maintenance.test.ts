import { describe, expect, test } from '@jest/globals';
import { MONITOR as rules, NOW, REGION as unchecked } from '../testing/monitor-states.ts';
import type { RegionState } from './apply-check.ts';
import {
  hiddenAfterCheck,
  type HiddenStatus,
  hiddenStatus,
  maintenanceExit,
  maintenanceEntry,
} from './maintenance.ts';

const passing: RegionState = { ...unchecked, lastResultAt: NOW - 5_000, lastLatencyMs: 12 };
const failing: RegionState = {
  ...passing,
  region: 'us',
  consecutiveFailures: 1,
  lastLatencyMs: 31,
  lastErrorReason: 'HTTP_500',
};
const stale: RegionState = { ...failing, lastResultAt: NOW - 3_600_000 };

describe('maintenanceExit', () => {
  test.each<[string, HiddenStatus, RegionState, HiddenStatus, boolean]>([
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
    expect(maintenanceExit(rules, before, [region], NOW)).toMatchObject({ to, announced });
    expect(hiddenStatus(rules, before, [region], NOW)).toBe(to);
  });

  test.each<[string, RegionState[]]>([
    ['a streak that was reset and has a failure', [failing]],
    ['a region that was added and has not reported', [{ ...failing, consecutiveFailures: 3 }, unchecked]],
    ['a region that passed long ago', [failing, { ...passing, lastResultAt: NOW - 3_600_000 }]],
  ])('recovers only by a check that passed: %s', (_, regions) => {
    const strict = { ...rules, failureThreshold: 3 };
    expect(maintenanceExit(strict, 'DOWN', regions, NOW)).toMatchObject({ to: 'DOWN', announced: false });
  });

  const old = { ...failing, region: 'ap', lastResultAt: NOW - 3_600_000, lastLatencyMs: 99 };
  const newest = { ...failing, region: 'ap', lastResultAt: NOW - 1_000, lastLatencyMs: 99 };
  const needsRetry = { ...newest, consecutiveFailures: 1 };
  test.each<[string, HiddenStatus, number, RegionState[], RegionState]>([
    ['a current check rather than one of hours ago', 'UP', 1, [old, failing], failing],
    ['the last failure', 'UP', 1, [passing, failing, newest], newest],
    ['the last check that passed', 'DOWN', 1, [passing], passing],
    [
      'a check that passed rather than a later failure below the threshold',
      'UP',
      2,
      [needsRetry, passing],
      passing,
    ],
  ])('names as the cause %s', (_, before, failureThreshold, regions, expected) => {
    const { check } = maintenanceExit({ ...rules, failureThreshold }, before, regions, NOW);
    expect(check).toEqual({
      region: expected.region,
      latencyMs: expected.lastLatencyMs,
      errorReason: expected.lastErrorReason,
      errorDetail: null,
    });
  });
});

test('maintenanceEntry names the first region of the monitor’s list, or the region that checks it', () => {
  const expected = { latencyMs: 0, errorReason: null, errorDetail: null };
  expect(maintenanceEntry(['us', 'eu'], [passing, failing])).toEqual({ region: 'us', ...expected });
  expect(maintenanceEntry([], [passing])).toEqual({ region: 'eu', ...expected });
});

describe('hiddenAfterCheck', () => {
  const completed = {
    kind: 'recorded',
    inconclusive: false,
    region: { ...failing, lastResultAt: NOW },
    restarted: [],
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
    expect(hiddenAfterCheck(before, effect, NOW)).toBe(expected);
  });
});
