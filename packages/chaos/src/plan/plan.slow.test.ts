import { describe, expect, test } from '@jest/globals';
import { planCampaign } from '../campaign/run-campaign.ts';
import { API_WRITES, type PlannedFault } from '../faults/fault.ts';
import { faultKinds } from '../faults/kinds.ts';
import { faultWindowMs, planFaults } from './faults.ts';
import { REPLICAS } from './replicas.ts';
import { MOODY_RECEIVERS } from './world.ts';

const SEEDS = Array.from({ length: 50 }, (_, index) => index + 1);
/** A schedule of three minutes for each seed. */
const SCHEDULES = SEEDS.map((seed) => planFaults(seed, 3, MOODY_RECEIVERS));

describe('a schedule', () => {
  test('depends on the seed alone', () => {
    expect(planCampaign(7, 3)).toEqual(planCampaign(7, 3));
    expect(planCampaign(7, 3).faults).not.toEqual(planCampaign(8, 3).faults);
  });

  test.each([2, 3, 10])('of %i minutes has each kind of fault, one after the other on a track', (minutes) => {
    for (const seed of SEEDS) {
      const faults = planFaults(seed, minutes, MOODY_RECEIVERS);
      const names = faults.map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(faultKinds(minutes).map(({ name }) => name)));
      const over = new Map<string, number>();
      for (const { track, atMs, lastsMs } of faults) {
        expect(atMs).toBeGreaterThanOrEqual(over.get(track) ?? 0);
        over.set(track, atMs + lastsMs);
      }
      expect(Math.max(...over.values())).toBeLessThanOrEqual(faultWindowMs(minutes));
    }
  });

  test('hits known replicas, and all of them over many seeds', () => {
    const hit = new Set(SCHEDULES.flat().map(({ victim }) => victim));
    expect(hit).toEqual(new Set([null, ...REPLICAS.map(({ name }) => name), ...MOODY_RECEIVERS]));
  });

  test('hits an api during at least four kinds of writes, and during all of them over many seeds', () => {
    const writesOf = (faults: readonly PlannedFault[]): Set<string> =>
      new Set(faults.flatMap(({ write }) => write ?? []));
    for (const faults of SCHEDULES) expect(writesOf(faults).size).toBeGreaterThanOrEqual(4);
    expect(writesOf(SCHEDULES.flat())).toEqual(new Set(API_WRITES));
  });
});

test('each target fails at least once, and all kinds of calls are sent', () => {
  const kinds =
    'rename, relabel, rescope, tune, move, trigger, delete, disable, enable, maintain, end maintenance, delete maintenance';
  for (const seed of SEEDS) {
    const { world, calls } = planCampaign(seed, 2);
    for (const { turns, fate } of world.monitors) {
      // The target of a covered monitor fails only during its fault.
      expect(turns.some(({ state }) => state !== 'up')).toBe(fate !== 'covered');
    }
    expect(new Set(calls.map(({ type }) => type))).toEqual(new Set(kinds.split(', ')));
  }
});
