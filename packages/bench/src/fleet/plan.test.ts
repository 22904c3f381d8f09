import { describe, expect, test } from '@jest/globals';
import { behaviorOf } from './target-path.ts';
import { hostsOf, targetOf } from './plan.ts';

const MONITORS = 120_000;
const TARGETS = Array.from({ length: MONITORS }, (_, number) => targetOf(number));

describe('targetOf', () => {
  test.each([
    ['https', TARGETS.filter(({ protocol }) => protocol === 'https').length, 0.1],
    ['hanging', TARGETS.filter(({ kind }) => kind === 'hanging').length, 0.01],
    ['flapping', TARGETS.filter(({ kind }) => kind === 'flapping').length, 0.005],
    [
      'flapping over https',
      TARGETS.filter(({ kind, protocol }) => kind === 'flapping' && protocol === 'https').length,
      0.0005,
    ],
  ])('gives %s its share', (_, count, share) => {
    expect(count).toBe(MONITORS * share);
  });

  test('spreads the delays from 20 to 800 ms by their logarithm', () => {
    const delays = TARGETS.flatMap(({ path }) => behaviorOf(`GET ${path} `)?.delayMs ?? []).sort(
      (one, other) => one - other,
    );
    expect([delays[0], delays.at(-1)]).toEqual([20, 800]);
    expect(delays[Math.floor(delays.length / 2)]).toBeCloseTo(Math.sqrt(20 * 800), -1);
  });

  test('spreads the outages over the whole period', () => {
    const phases = TARGETS.flatMap(({ flapPhaseMs }) => flapPhaseMs ?? []);
    const perMinute = Array.from(
      { length: 10 },
      (_, minute) => phases.filter((phase) => Math.floor(phase / 60_000) === minute).length,
    );
    for (const count of perMinute) expect(Math.abs(count - 60)).toBeLessThanOrEqual(2);
  });
});

test('hostsOf lists each host of the targets once, with a TTL from 30 to 300 s', () => {
  const hosts = hostsOf(MONITORS);
  expect(new Set(hosts.map(({ name }) => name))).toEqual(new Set(TARGETS.map(({ host }) => host)));
  expect(hosts).toHaveLength(10_000);
  const ttls = hosts.map(({ ttlSeconds }) => ttlSeconds);
  expect([Math.min(...ttls), Math.max(...ttls)]).toEqual([30, 300]);
});
