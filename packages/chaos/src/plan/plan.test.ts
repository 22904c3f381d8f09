import { describe, expect, test } from '@jest/globals';
import { SERVICE_NAMES } from '@tocsin/lab/service-process';
import { planCampaign } from '../campaign/run-campaign.ts';
import { API_WRITES, type PlannedFault } from '../faults/fault.ts';
import { faultKinds } from '../faults/kinds.ts';
import { STAGES } from '../faults/stages.ts';
import { MISBEHAVIORS } from '../world/receivers.ts';
import { faultWindowMs, planFaults } from './faults.ts';
import { REPLICAS, replicasOf } from './replicas.ts';
import { MOODY_RECEIVERS } from './world.ts';

const SEEDS = Array.from({ length: 50 }, (_, index) => index + 1);

const planned = new Map<string, readonly PlannedFault[]>();
/** Each schedule is planned once for all tests. */
function faultsOf(seed: number, minutes: number): readonly PlannedFault[] {
  const key = `${seed} ${minutes}`;
  const faults = planned.get(key) ?? planFaults(seed, minutes, MOODY_RECEIVERS);
  planned.set(key, faults);
  return faults;
}

describe('a schedule', () => {
  test('depends on the seed alone', () => {
    expect(planCampaign(7, 3)).toEqual(planCampaign(7, 3));
    expect(planCampaign(7, 3).faults).not.toEqual(planCampaign(8, 3).faults);
  });

  test.each([2, 3, 10])('has each kind of fault at least once in %i minutes', (minutes) => {
    const wanted = faultKinds(minutes).map(({ name }) => name);
    for (const seed of SEEDS) {
      const names = new Set(faultsOf(seed, minutes).map(({ name }) => name));
      expect(wanted.filter((name) => !names.has(name))).toEqual([]);
    }
  });

  test.each([2, 3, 10])('keeps the faults of a track apart, and within %i minutes', (minutes) => {
    for (const seed of SEEDS) {
      const over = new Map<string, number>();
      const tooEarly = faultsOf(seed, minutes).filter(({ track, atMs, lastsMs }) => {
        const before = over.get(track) ?? 0;
        over.set(track, atMs + lastsMs);
        return atMs < before;
      });
      expect(tooEarly).toEqual([]);
      expect(Math.max(...over.values())).toBeLessThanOrEqual(faultWindowMs(minutes));
    }
  });

  test('sets the clock of each service an hour ahead and behind, 100 days ahead, and a minute off', () => {
    const minutes = new Set<number>();
    for (const seed of SEEDS) {
      for (const service of SERVICE_NAMES) {
        const clocks = faultsOf(seed, 3).filter(({ track }) => track === `${service} clock`);
        const offsets = clocks.map(({ offsetSeconds }) => offsetSeconds ?? 0);
        expect(offsets).toEqual(expect.arrayContaining([3_600, -3_600, 8_640_000]));
        const victims = new Set(clocks.map(({ victim }) => victim));
        expect(victims).toEqual(new Set(replicasOf(service)));
        const small = offsets.filter((offset) => Math.abs(offset) === 60);
        expect(small).not.toEqual([]);
        for (const offset of small) minutes.add(offset);
      }
    }
    expect(minutes).toEqual(new Set([60, -60]));
  });

  test('hits known replicas, and all of them over many seeds', () => {
    const hit = new Set(SEEDS.flatMap((seed) => faultsOf(seed, 3).map((one) => one.victim)));
    const known = [...REPLICAS.map(({ name }) => name), ...MOODY_RECEIVERS];
    expect([...hit].filter((victim) => victim !== null).sort()).toEqual(known.sort());
  });

  test('pauses Redis for 60 s if it lasts three minutes', () => {
    const pause = faultsOf(1, 3).find(({ name }) => name === 'redis-pause');
    expect(pause?.lastsMs).toBe(60_000);
  });
});

test('faults hit an api during at least four kinds of writes in a campaign, and during all of them over many seeds', () => {
  const all = SEEDS.map((seed) => {
    const hits = faultsOf(seed, 3);
    const isAtApi = ({ name }: PlannedFault): boolean => /^(kill|stop)-api-/.test(name);
    expect(hits.every((fault) => isAtApi(fault) === (fault.write !== null))).toBe(true);
    const writes = new Set(hits.flatMap(({ write }) => write ?? []));
    expect(writes.size).toBeGreaterThanOrEqual(4);
    return writes;
  });
  for (const write of API_WRITES) expect(all.some((writes) => writes.has(write))).toBe(true);
});

test('fault kinds include both signals at every stage', () => {
  const names = faultKinds(3).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const [service, stages] of Object.entries(STAGES)) {
    for (const stage of Object.keys(stages)) {
      expect(names).toContain(`kill-${service}-${stage}`);
      expect(names).toContain(`stop-${service}-${stage}`);
    }
  }
  for (const misbehavior of MISBEHAVIORS) expect(names).toContain(`receiver-${misbehavior}`);
});

test('each target fails at least once, and all kinds of calls are sent', () => {
  for (const seed of SEEDS) {
    const { world, calls } = planCampaign(seed, 2);
    for (const { turns, fate } of world.monitors) {
      // The target of a covered monitor fails only during its fault.
      expect(turns.some(({ state }) => state !== 'up')).toBe(fate !== 'covered');
    }
    expect(new Set(calls.map(({ type }) => type))).toEqual(
      new Set([
        'rename',
        'relabel',
        'rescope',
        'tune',
        'move',
        'trigger',
        'delete',
        'disable',
        'enable',
        'maintain',
        'end maintenance',
        'delete maintenance',
      ]),
    );
  }
});

test('the neighbor has monitors of all kinds, whose timeouts do not exceed their intervals', () => {
  const { neighbor } = planCampaign(3, 3);
  expect(new Set(neighbor.map(({ key }) => key)).size).toBe(neighbor.length);
  const count = (wanted: string): number => neighbor.filter(({ kind }) => kind === wanted).length;
  expect(['redirecting', 'silent', 'unreadable', 'poison'].map(count)).toEqual([40, 40, 10, 3]);
  expect(neighbor.every(({ intervalSeconds, timeoutSeconds }) => timeoutSeconds <= intervalSeconds)).toBe(
    true,
  );
});
