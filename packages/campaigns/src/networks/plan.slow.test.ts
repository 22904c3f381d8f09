import { expect, test } from '@jest/globals';
import { groupBy } from '@tocsin/lab/oracle/history';
import { downBy } from '@tocsin/lab/oracle/reachability';
import { AGENT_CUT_KINDS, CUT_KINDS } from '@tocsin/lab/oracle/record';
import { GATEWAYS, planNetworks, REGIONS } from './plan.ts';

const OPTIONS = { seed: 7, targets: 64, cuts: 12, maxCutMs: 25_000 };
const PLANS = Array.from({ length: 20 }, (_, index) => planNetworks({ ...OPTIONS, seed: index + 1 }));

test('depends on its options alone', () => {
  expect(planNetworks(OPTIONS)).toEqual(planNetworks(OPTIONS));
  expect(planNetworks({ ...OPTIONS, seed: 8 }).cuts).not.toEqual(planNetworks(OPTIONS).cuts);
});

test('cuts each region, in every way, and one after the other', () => {
  for (const { cuts } of PLANS) {
    expect(cuts).toHaveLength(OPTIONS.cuts);
    expect(new Set(cuts.map(({ kind }) => kind))).toEqual(new Set(CUT_KINDS));
    const byRegion = groupBy(cuts, ({ region }) => region);
    expect(new Set(byRegion.keys())).toEqual(new Set(REGIONS));
    for (const own of byRegion.values())
      for (const [index, cut] of own.slice(1).entries())
        expect(cut.from).toBeGreaterThan(own[index]?.until ?? 0);
  }
});

test('cuts each agent off, in every way, and kills agents and gateways', () => {
  const plan = planNetworks({ ...OPTIONS, cuts: 100, hasAgents: true });
  const cuts = groupBy(plan.cuts, ({ region }) => region);
  expect([...cuts.keys()]).toEqual(plan.networks);
  for (const own of cuts.values())
    expect(new Set(own.map(({ kind }) => kind))).toEqual(new Set(AGENT_CUT_KINDS));
  const killed = new Set(plan.kills.map(({ region }) => region));
  expect(killed).toEqual(new Set([...plan.networks, ...GATEWAYS]));
});

test('has targets that sleep, and outages of every kind', () => {
  const monitors = PLANS.flatMap((plan) => plan.monitors);
  expect(monitors.some(({ sleeps }) => sleeps)).toBe(true);
  const kinds = new Set(monitors.flatMap(({ outages }) => outages.map(({ kind }) => kind)));
  expect(kinds).toEqual(new Set(['down', 'reset', 'hang', 'gone', 'cold']));
});

test('has every combination of threshold, regions and kind of address, with and without outages', () => {
  const monitors = PLANS.flatMap((plan) => plan.monitors.filter(({ isCanary }) => !isCanary));
  const kinds = monitors.map(({ failureThreshold, regions, byName, retryIntervalSeconds, outages }) =>
    [failureThreshold, regions.length, byName, retryIntervalSeconds, outages.length > 0].join(' '),
  );
  expect(new Set(kinds).size).toBe(2 ** 5);
});

test('lets each outage last until it must have been detected, and ends after the last one', () => {
  for (const plan of PLANS) {
    for (const monitor of plan.monitors)
      for (const outage of monitor.outages) {
        expect(downBy(plan, monitor, outage)).toBeLessThan(outage.until);
        expect(outage.until).toBeLessThan(plan.endsAt);
      }
  }
});

test('loses packets only between two cuts', () => {
  for (const { cuts, losses } of PLANS) {
    expect(losses.length).toBeGreaterThan(1);
    for (const { region, from, until } of losses)
      expect(cuts.filter((cut) => cut.region === region && cut.from < until && from < cut.until)).toEqual([]);
  }
});

test('begins at least a tenth of the outages during cuts, and a tenth outside of them', () => {
  const duringCut = PLANS.flatMap(({ monitors, cuts }) =>
    monitors.flatMap(({ regions, outages }) =>
      outages.map(({ from }) =>
        cuts.some((cut) => regions.includes(cut.region) && cut.from <= from && from < cut.until),
      ),
    ),
  );
  const share = duringCut.filter(Boolean).length / duringCut.length;
  expect(Math.min(share, 1 - share)).toBeGreaterThan(0.1);
});
