import { describe, expect, test } from '@jest/globals';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { overviewWith } from '../testing/records.ts';
import { createArranger, describeTotals } from './arrange-monitors.ts';

const NO_LATENCIES = new Map<string, number>();

function monitorOf(id: string, fields: Partial<MonitorOverview> = {}): MonitorOverview {
  return overviewWith({ id, name: id, url: `https://${id}.example`, ...fields });
}

const MONITORS = [
  monitorOf('up10', { name: 'Shop 10' }),
  monitorOf('up2', { name: 'shop 2', regions: ['eu', 'us'], externalId: 'Key-2' }),
  monitorOf('old', { status: 'DOWN', statusSince: '2026-03-01T13:00:00.000Z', regions: ['us'] }),
  monitorOf('new', { status: 'DOWN', statusSince: '2026-03-01T14:00:00.000Z', source: 'prod/shop.yaml' }),
  monitorOf('paused', { status: 'MAINTENANCE' }),
  monitorOf('fresh', { status: 'PENDING', url: 'https://fresh.example/Health' }),
];

describe('createArranger', () => {
  test('sorts by status by default: the latest outage first, then by name', () => {
    const { ids } = createArranger('home')(MONITORS, {}, NO_LATENCIES);
    expect(ids).toEqual(['new', 'old', 'fresh', 'paused', 'up2', 'up10']);
  });

  test.each([
    ['name', ['fresh', 'new', 'old', 'paused', 'up2', 'up10']],
    ['newest', ['up2', 'up10', 'paused', 'old', 'new', 'fresh']],
    ['latency', ['old', 'up2', 'fresh', 'new', 'paused', 'up10']],
  ] as const)('sorts by %s', (order, ids) => {
    const latencies = new Map([
      ['up2', 5],
      ['old', 70],
    ]);
    expect(createArranger('home')(MONITORS, { order }, latencies).ids).toEqual(ids);
  });

  test.each([
    ['SHOP', ['new', 'up2', 'up10']],
    ['health', ['fresh']],
    ['key-2', ['up2']],
    ['prod yaml', ['new']],
    ['shop nothing', []],
    ['  ', ['new', 'old', 'fresh', 'paused', 'up2', 'up10']],
  ])('the search %j matches each word in the name, URL, external ID or source', (q, ids) => {
    expect(createArranger('home')(MONITORS, { q }, NO_LATENCIES).ids).toEqual(ids);
  });

  test('filters by region; monitors without regions are in the default region', () => {
    const ids = (region: string): readonly string[] =>
      createArranger('home')(MONITORS, { region, order: 'name' }, NO_LATENCIES).ids;
    expect(ids('us')).toEqual(['old', 'up2']);
    expect(ids('home')).toEqual(['fresh', 'new', 'paused', 'up10']);
    expect(ids('mars')).toEqual([]);
  });

  test.each([
    ['app=shop', ['up2', 'up10']],
    ['app=shop,tier!=web', ['up10']],
    ['tier in (web,api)', ['up2']],
    ['!app', ['new', 'old', 'fresh', 'paused']],
    ['app in shop', ['new', 'old', 'fresh', 'paused', 'up2', 'up10']],
  ])('filters by the selector %j; an invalid one filters nothing', (selector, ids) => {
    const labeled = MONITORS.map((monitor) => {
      if (monitor.id === 'up10') return monitorOf('up10', { name: 'Shop 10', labels: { app: 'shop' } });
      if (monitor.id === 'up2') return monitorOf('up2', { labels: { app: 'shop', tier: 'web' } });
      return monitor;
    });
    const arrangement = createArranger('home')(labeled, { selector }, NO_LATENCIES);
    expect(new Set(arrangement.ids)).toEqual(new Set(ids));
    expect(arrangement.hasLabels).toBe(true);
    expect(createArranger('home')(MONITORS, { selector }, NO_LATENCIES).hasLabels).toBe(false);
  });

  test('a status filter changes no counts, and no filter changes the totals', () => {
    const search = { region: 'us', status: 'UP' } as const;
    const { ids, counts, totals, regions } = createArranger('home')(MONITORS, search, NO_LATENCIES);
    expect(ids).toEqual(['up2']);
    expect(counts).toEqual({ DOWN: 1, PENDING: 0, MAINTENANCE: 0, UP: 1 });
    expect(totals).toEqual({ DOWN: 2, PENDING: 1, MAINTENANCE: 1, UP: 2 });
    expect(regions).toEqual(['eu', 'home', 'us']);
  });

  test.each<[string, (monitors: MonitorOverview[]) => MonitorOverview[]]>([
    ['a new status', ([one, ...rest]) => [{ ...(one as MonitorOverview), status: 'DOWN' }, ...rest]],
    ['a new name', ([one, ...rest]) => [{ ...(one as MonitorOverview), name: 'A' }, ...rest]],
    ['a new region', ([one, ...rest]) => [{ ...(one as MonitorOverview), regions: ['mars'] }, ...rest]],
    ['a new monitor', (monitors) => [...monitors, monitorOf('more')]],
    ['a deleted monitor', ([, ...rest]) => rest],
  ])('applies %s at once', (_, change) => {
    const arrange = createArranger('home');
    arrange(MONITORS, {}, NO_LATENCIES);
    const changed = change(MONITORS);
    const afresh = createArranger('home')(changed, {}, NO_LATENCIES);
    expect(arrange(changed, {}, NO_LATENCIES)).toEqual(afresh);
    expect(afresh).not.toEqual(createArranger('home')(MONITORS, {}, NO_LATENCIES));
  });

  test('applies a new search, order or latencies at once', () => {
    const arrange = createArranger('home');
    const first = arrange(MONITORS, {}, NO_LATENCIES);
    expect(arrange(MONITORS, { order: 'name' }, NO_LATENCIES).ids).not.toEqual(first.ids);
    const byLatency = (id: string): string | undefined =>
      arrange(MONITORS, { order: 'latency' }, new Map([[id, 5]])).ids[0];
    expect([byLatency('old'), byLatency('up2')]).toEqual(['old', 'up2']);
  });
});

const NONE = { DOWN: 0, PENDING: 0, MAINTENANCE: 0, UP: 0 };

test.each([
  [{}, '0 monitors'],
  [{ UP: 1 }, '1 monitor is up'],
  [{ UP: 12 }, 'All 12 monitors are up'],
  [{ DOWN: 1 }, '1 down'],
  [{ DOWN: 3, PENDING: 1, MAINTENANCE: 2, UP: 90 }, '3 down, 1 pending, 2 in maintenance, 90 up'],
  [{ MAINTENANCE: 2, UP: 90 }, '2 in maintenance, 90 up'],
])('describes %j as "%s"', (counts, text) => {
  expect(describeTotals({ ...NONE, ...counts })).toBe(text);
});
