import { describe, expect, test } from '@jest/globals';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import type { MonitorsSearch } from '../monitors-search.ts';
import { overviewWith } from '../testing/records.ts';
import {
  type Arrangement,
  createArranger,
  describeTotals,
  type ListFacts,
  listRows,
  type MonitorGroup,
  rangeOf,
} from './arrange-monitors.ts';

const FACTS: ListFacts = { latencies: new Map(), unserved: [], now: Date.parse('2026-03-02T00:00:00Z') };

function monitorOf(id: string, fields: Partial<MonitorOverview> = {}): MonitorOverview {
  return overviewWith({ id, name: id, url: `https://${id}.example`, ...fields });
}

const at = (hour: number): string => new Date(Date.UTC(2026, 2, 1, hour)).toISOString();

const MONITORS = [
  monitorOf('up10', { name: 'Shop 10', certificateExpiresAt: '2026-05-01T00:00:00.000Z' }),
  monitorOf('up2', {
    name: 'shop 2',
    regions: ['eu', 'us'],
    externalId: 'Key-2',
    certificateExpiresAt: '2026-04-01T00:00:00.000Z',
  }),
  monitorOf('old', { status: 'DOWN', statusSince: at(13), regions: ['us'], lastCheckedAt: at(13) }),
  monitorOf('new', { status: 'DOWN', statusSince: at(14), source: 'prod/shop.yaml', lastCheckedAt: at(14) }),
  monitorOf('paused', { status: 'MAINTENANCE' }),
  monitorOf('fresh', { status: 'PENDING', url: 'https://fresh.example/Health' }),
];

/** The list from a new arranger. */
const arrange = (search: MonitorsSearch, facts = FACTS, monitors = MONITORS): Arrangement =>
  createArranger('home')(monitors, search, facts);

test('finds monitors by a label in the search', () => {
  const labeled = monitorOf('labeled', { labels: { app: 'shop', tier: 'web' } });
  expect(arrange({ q: 'App=shop' }, FACTS, [...MONITORS, labeled]).ids).toEqual(['labeled']);
});

test.each([
  ['b', 'd', 'bcd'],
  ['d', 'b', 'bcd'],
  ['c', 'c', 'c'],
  [null, 'c', 'c'],
  ['gone', 'c', 'c'],
])('selects from %s to %s as %s', (from, to, ids) => {
  expect(rangeOf(['a', 'b', 'c', 'd', 'e'], from, to).join('')).toBe(ids);
});

test('counts monitors that fail in maintenance, and sorts them before others in maintenance', () => {
  const failing = ['x', 'y'].map((id) => monitorOf(id, { status: 'MAINTENANCE', failing: id === 'y' }));
  const arrangement = arrange({}, FACTS, [...MONITORS, ...failing]);
  expect(arrangement.ids).toEqual(['new', 'old', 'fresh', 'y', 'paused', 'x', 'up2', 'up10']);
  expect(describeTotals(arrangement)).toBe('2 down, 1 pending, 3 in maintenance (1 failing), 2 up');
});

test('sorts by status by default, with the latest outage first, and then by name', () => {
  expect(arrange({}).ids).toEqual(['new', 'old', 'fresh', 'paused', 'up2', 'up10']);
  expect(arrange({ reverse: true }).ids).toEqual(['up2', 'up10', 'paused', 'fresh', 'old', 'new']);
});

test.each([
  ['name', ['fresh', 'new', 'old', 'paused', 'up2', 'up10']],
  ['newest', ['up2', 'up10', 'paused', 'old', 'new', 'fresh']],
  ['latency', ['old', 'up2', 'fresh', 'new', 'paused', 'up10']],
  ['p99', ['up2', 'old', 'fresh', 'new', 'paused', 'up10']],
  ['checked', ['old', 'new', 'fresh', 'paused', 'up2', 'up10']],
  ['certificate', ['up2', 'up10', 'fresh', 'new', 'old', 'paused']],
] as const)('sorts by %s in both directions, with missing values last', (order, ids) => {
  const [up2, old] = [
    { p95: 5, p99: 900 },
    { p95: 70, p99: 80 },
  ];
  const facts = { ...FACTS, latencies: new Map(Object.entries({ up2, old })) };
  expect(arrange({ order }, facts).ids).toEqual(ids);
  const valued = { name: 6, newest: 6, latency: 2, p99: 2, certificate: 2, checked: 2 }[order];
  expect(arrange({ order, reverse: true }, facts).ids).toEqual([
    ...ids.slice(0, valued).toReversed(),
    ...ids.slice(valued),
  ]);
});

test.each([
  ['SHOP', ['new', 'up2', 'up10']],
  ['health', ['fresh']],
  ['key-2', ['up2']],
  ['prod yaml', ['new']],
])('the search %j matches every word in the name, URL, external ID or source', (q, ids) => {
  expect(arrange({ q }).ids).toEqual(ids);
});

test('filters by region, where monitors without regions are in the default region', () => {
  const ids = (region: string): readonly string[] => arrange({ region, order: 'name' }).ids;
  expect(ids('us')).toEqual(['old', 'up2']);
  expect(ids('home')).toEqual(['fresh', 'new', 'paused', 'up10']);
  expect(ids('mars')).toEqual([]);
});

test.each([
  ['app=shop', ['up2', 'up10']],
  ['app=shop,tier!=web', ['up10']],
  ['!app', ['new', 'old', 'fresh', 'paused']],
  ['app in shop', ['new', 'old', 'fresh', 'paused', 'up2', 'up10']],
])('filters by the selector %j; an invalid one filters nothing', (selector, ids) => {
  const labels = new Map(Object.entries({ up10: { app: 'shop' }, up2: { app: 'shop', tier: 'web' } }));
  const labeled = MONITORS.map((monitor) => ({ ...monitor, labels: labels.get(monitor.id) ?? {} }));
  const arrangement = arrange({ selector }, FACTS, labeled);
  expect(new Set(arrangement.ids)).toEqual(new Set(ids));
  expect(arrangement.labelKeys).toEqual(['app', 'tier']);
  expect(arrange({ selector }).labelKeys).toEqual([]);
});

test('a status filter does not change counts, and no filter changes totals', () => {
  const { ids, counts, totals, regions } = arrange({ region: 'us', status: 'UP' });
  expect(ids).toEqual(['up2']);
  expect(counts).toEqual({ DOWN: 1, PENDING: 0, MAINTENANCE: 0, PAUSED: 0, UP: 1 });
  expect(totals).toEqual({ DOWN: 2, PENDING: 1, MAINTENANCE: 1, PAUSED: 0, UP: 2 });
  expect(regions).toEqual(['eu', 'home', 'us']);
});

test.each<[string, (monitors: MonitorOverview[]) => MonitorOverview[]]>([
  ['a new status', ([one, ...rest]) => [{ ...(one as MonitorOverview), status: 'DOWN' }, ...rest]],
  ['a new region', ([one, ...rest]) => [{ ...(one as MonitorOverview), regions: ['mars'] }, ...rest]],
  ['a new monitor', (monitors) => [...monitors, monitorOf('more')]],
  ['a deleted monitor', ([, ...rest]) => rest],
])('applies %s at once', (_, change) => {
  const rearrange = createArranger('home');
  rearrange(MONITORS, {}, FACTS);
  const changed = change(MONITORS);
  expect(rearrange(changed, {}, FACTS)).toEqual(arrange({}, FACTS, changed));
  expect(arrange({}, FACTS, changed)).not.toEqual(arrange({}));
});

test('applies a new search, order or latencies at once', () => {
  const rearrange = createArranger('home');
  const first = rearrange(MONITORS, {}, FACTS);
  expect(rearrange(MONITORS, { order: 'name' }, FACTS).ids).not.toEqual(first.ids);
  for (const id of ['old', 'up2']) {
    const facts = { ...FACTS, latencies: new Map([[id, { p95: 5, p99: 5 }]]) };
    expect(rearrange(MONITORS, { order: 'latency' }, facts).ids[0]).toBe(id);
  }
});

describe('filters beyond the fields', () => {
  const incident = { id: 'i', openedAt: at(13), acknowledgedAt: null, acknowledgedBy: null };
  const acknowledged = { ...incident, acknowledgedAt: at(14), acknowledgedBy: 'Ada' };
  const monitors = [
    monitorOf('a', { incident, regions: ['eu', 'us'] }),
    monitorOf('b', { incident: acknowledged, regions: [] }),
    monitorOf('c', { certificateExpiresAt: '2026-03-31T23:59:59.000Z', regions: ['us'] }),
    monitorOf('d', { certificateExpiresAt: '2026-04-01T00:00:00.001Z', regions: ['us'] }),
  ];
  test.each([
    ['unacknowledged', [], ['a']],
    ['expiring', [], ['c']],
    ['unchecked', [], []],
    ['unchecked', ['eu'], ['a']],
    ['unchecked', ['home', 'eu'], ['a', 'b']],
  ] as const)('%s with the unserved regions %j', (show, unserved, ids) => {
    const arrangement = arrange({ show, order: 'name' }, { ...FACTS, unserved }, monitors);
    expect(arrangement.ids).toEqual(ids);
    expect(arrangement.counts.UP).toBe(ids.length);
  });
});

describe('groups', () => {
  const labeled = (id: string, labels: Record<string, string>, fields: Partial<MonitorOverview> = {}) =>
    monitorOf(id, { labels, ...fields });
  const monitors = [
    labeled('a1', { team: 'a' }),
    labeled('a2', { team: 'a' }, { status: 'DOWN' }),
    labeled('b1', { team: 'b' }, { status: 'DOWN' }),
    labeled('b2', { team: 'b' }, { status: 'DOWN', statusSince: at(13) }),
    labeled('c1', { team: 'c' }),
    labeled('d1', { team: 'd' }, { status: 'MAINTENANCE' }),
    labeled('empty', { team: '' }),
    labeled('none', { app: 'shop' }),
    labeled('proto', { constructor: 'x' }),
  ];
  const arrangeGroups = (search: MonitorsSearch): Arrangement => arrange(search, FACTS, monitors);

  test('begin with the most urgent, and end with the monitors without the label', () => {
    const { groups } = arrangeGroups({ group: 'team' });
    expect(groups?.map(({ value, ids }) => [value, ids])).toEqual([
      ['b', ['b2', 'b1']],
      ['a', ['a2', 'a1']],
      ['d', ['d1']],
      ['', ['empty']],
      ['c', ['c1']],
      [null, ['none', 'proto']],
    ]);
    expect(groups?.[1]?.counts).toEqual({ DOWN: 1, PENDING: 0, MAINTENANCE: 0, PAUSED: 0, UP: 1 });
    expect(arrangeGroups({}).groups).toBeNull();
    expect(arrangeGroups({ group: 'toString' }).groups).toHaveLength(1);
  });

  test('that are collapsed have no rows, but their monitors still count', () => {
    const arrangement = arrangeGroups({ group: 'team', status: 'DOWN' });
    const [b, a] = arrangement.groups as [MonitorGroup, MonitorGroup];
    expect(listRows(arrangement, new Set())).toEqual([b, 'b2', 'b1', a, 'a2']);
    expect(listRows(arrangement, new Set(['b']))).toEqual([b, a, 'a2']);
    expect(arrangement.ids).toHaveLength(3);
    expect(listRows(arrangeGroups({}), new Set(['b']))).toHaveLength(9);
  });
});
