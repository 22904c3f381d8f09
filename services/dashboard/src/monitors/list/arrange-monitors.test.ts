import { describe, expect, test } from '@jest/globals';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { MONITOR_ORDERS, type MonitorsSearch } from '../monitors-search.ts';
import { overviewWith } from '../testing/records.ts';
import {
  type Arrangement,
  createArranger,
  describeTotals,
  type ListFacts,
  listRows,
  type MonitorGroup,
} from './arrange-monitors.ts';
import { STATUS_ORDER } from './sort-monitors.ts';

const FACTS: ListFacts = { latencies: new Map(), unserved: [], now: Date.parse('2026-03-02T00:00:00Z') };

function monitorOf(id: string, fields: Partial<MonitorOverview> = {}): MonitorOverview {
  return overviewWith({ id, name: id, url: `https://${id}.example`, ...fields });
}

const MONITORS = [
  monitorOf('up10', { name: 'Shop 10', certificateExpiresAt: '2026-05-01T00:00:00.000Z' }),
  monitorOf('up2', {
    name: 'shop 2',
    regions: ['eu', 'us'],
    externalId: 'Key-2',
    certificateExpiresAt: '2026-04-01T00:00:00.000Z',
  }),
  monitorOf('old', {
    status: 'DOWN',
    statusSince: '2026-03-01T13:00:00.000Z',
    regions: ['us'],
    lastCheckedAt: '2026-03-01T13:00:00.000Z',
  }),
  monitorOf('new', {
    status: 'DOWN',
    statusSince: '2026-03-01T14:00:00.000Z',
    source: 'prod/shop.yaml',
    lastCheckedAt: '2026-03-01T14:00:00.000Z',
  }),
  monitorOf('paused', { status: 'MAINTENANCE' }),
  monitorOf('fresh', { status: 'PENDING', url: 'https://fresh.example/Health' }),
];

describe('createArranger', () => {
  test('sorts by status by default: the latest outage first, then by name', () => {
    const { ids } = createArranger('home')(MONITORS, {}, FACTS);
    expect(ids).toEqual(['new', 'old', 'fresh', 'paused', 'up2', 'up10']);
  });

  test.each([
    ['name', ['fresh', 'new', 'old', 'paused', 'up2', 'up10']],
    ['newest', ['up2', 'up10', 'paused', 'old', 'new', 'fresh']],
    ['latency', ['old', 'up2', 'fresh', 'new', 'paused', 'up10']],
    ['p99', ['up2', 'old', 'fresh', 'new', 'paused', 'up10']],
    ['certificate', ['up2', 'up10', 'fresh', 'new', 'old', 'paused']],
    ['checked', ['old', 'new', 'fresh', 'paused', 'up2', 'up10']],
  ] as const)('sorts by %s, and in reverse; what has no value comes last', (order, ids) => {
    const latencies = new Map([
      ['up2', { p95: 5, p99: 900 }],
      ['old', { p95: 70, p99: 80 }],
    ]);
    const facts = { ...FACTS, latencies };
    expect(createArranger('home')(MONITORS, { order }, facts).ids).toEqual(ids);
    const valued = { name: 6, newest: 6, latency: 2, p99: 2, certificate: 2, checked: 2 }[order];
    expect(createArranger('home')(MONITORS, { order, reverse: true }, facts).ids).toEqual([
      ...ids.slice(0, valued).toReversed(),
      ...ids.slice(valued),
    ]);
  });

  test('the reverse order by status begins with monitors that are up, and ends with the latest outage', () => {
    const { ids } = createArranger('home')(MONITORS, { reverse: true }, FACTS);
    expect(ids).toEqual(['up2', 'up10', 'paused', 'fresh', 'old', 'new']);
  });

  test.each([
    ['SHOP', ['new', 'up2', 'up10']],
    ['health', ['fresh']],
    ['key-2', ['up2']],
    ['prod yaml', ['new']],
    ['shop nothing', []],
    ['  ', ['new', 'old', 'fresh', 'paused', 'up2', 'up10']],
  ])('the search %j matches each word in the name, URL, external ID or source', (q, ids) => {
    expect(createArranger('home')(MONITORS, { q }, FACTS).ids).toEqual(ids);
  });

  test('filters by region; monitors without regions are in the default region', () => {
    const ids = (region: string): readonly string[] =>
      createArranger('home')(MONITORS, { region, order: 'name' }, FACTS).ids;
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
    const arrangement = createArranger('home')(labeled, { selector }, FACTS);
    expect(new Set(arrangement.ids)).toEqual(new Set(ids));
    expect(arrangement.labelKeys).toEqual(['app', 'tier']);
    expect(createArranger('home')(MONITORS, { selector }, FACTS).labelKeys).toEqual([]);
  });

  test('a status filter changes no counts, and no filter changes the totals', () => {
    const search = { region: 'us', status: 'UP' } as const;
    const { ids, counts, totals, regions } = createArranger('home')(MONITORS, search, FACTS);
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
    arrange(MONITORS, {}, FACTS);
    const changed = change(MONITORS);
    const afresh = createArranger('home')(changed, {}, FACTS);
    expect(arrange(changed, {}, FACTS)).toEqual(afresh);
    expect(afresh).not.toEqual(createArranger('home')(MONITORS, {}, FACTS));
  });

  test('applies a new search, order or latencies at once', () => {
    const arrange = createArranger('home');
    const first = arrange(MONITORS, {}, FACTS);
    expect(arrange(MONITORS, { order: 'name' }, FACTS).ids).not.toEqual(first.ids);
    const byLatency = (id: string): string | undefined =>
      arrange(MONITORS, { order: 'latency' }, { ...FACTS, latencies: new Map([[id, { p95: 5, p99: 5 }]]) })
        .ids[0];
    expect([byLatency('old'), byLatency('up2')]).toEqual(['old', 'up2']);
  });
});

describe('filters beyond the fields', () => {
  const incident = (acknowledgedAt: string | null): MonitorOverview['incident'] => ({
    id: 'i',
    openedAt: '2026-03-01T13:00:00.000Z',
    acknowledgedAt,
    acknowledgedBy: acknowledgedAt === null ? null : 'Ada',
  });
  const monitors = [
    monitorOf('a', { incident: incident(null), regions: ['eu', 'us'] }),
    monitorOf('b', { incident: incident('2026-03-01T14:00:00.000Z'), regions: [] }),
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
    const arrangement = createArranger('home')(monitors, { show, order: 'name' }, { ...FACTS, unserved });
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
    labeled('b2', { team: 'b' }, { status: 'DOWN', statusSince: '2026-03-01T13:00:00.000Z' }),
    labeled('c1', { team: 'c' }),
    labeled('d1', { team: 'd' }, { status: 'MAINTENANCE' }),
    labeled('empty', { team: '' }),
    labeled('none', { app: 'shop' }),
    labeled('proto', { constructor: 'x' }),
  ];
  const arrange = (search: MonitorsSearch): Arrangement => createArranger('home')(monitors, search, FACTS);

  test('begin with the most urgent, and end with the monitors without the label', () => {
    const { groups } = arrange({ group: 'team' });
    expect(groups?.map(({ value, ids }) => [value, ids])).toEqual([
      ['b', ['b2', 'b1']],
      ['a', ['a2', 'a1']],
      ['d', ['d1']],
      ['', ['empty']],
      ['c', ['c1']],
      [null, ['none', 'proto']],
    ]);
    expect(groups?.[1]?.counts).toEqual({ DOWN: 1, PENDING: 0, MAINTENANCE: 0, UP: 1 });
    expect(arrange({}).groups).toBeNull();
    expect(arrange({ group: 'toString' }).groups).toHaveLength(1);
  });

  test('that are collapsed have no rows, but their monitors still count', () => {
    const arrangement = arrange({ group: 'team', status: 'DOWN' });
    const [b, a] = arrangement.groups as [MonitorGroup, MonitorGroup];
    expect(listRows(arrangement, new Set())).toEqual([b, 'b2', 'b1', a, 'a2']);
    expect(listRows(arrangement, new Set(['b']))).toEqual([b, a, 'a2']);
    expect(arrangement.ids).toHaveLength(3);
    expect(listRows(arrange({}), new Set(['b']))).toHaveLength(9);
  });
});

/** Random numbers below a limit, the same in every run. */
function randomNumbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

test('every arrangement shows each monitor that matches once, and groups keep the order', () => {
  const random = randomNumbers(19);
  const oneOf = <Value>(values: readonly Value[]): Value | undefined => values[random(values.length)];
  const texts = ['a', 'b', 'c'] as const;
  for (let round = 0; round < 400; round += 1) {
    const monitors = Array.from({ length: random(12) }, (_, index) =>
      monitorOf(`m${index}`, {
        name: oneOf(texts) ?? '',
        status: oneOf(STATUS_ORDER) ?? 'UP',
        labels: random(2) === 0 ? {} : { a: oneOf(texts) ?? '', b: '' },
        lastCheckedAt: oneOf([null, '2026-03-01T00:00:00.000Z', '2026-03-01T00:01:00.000Z']) ?? null,
      }),
    );
    const search: MonitorsSearch = {
      order: oneOf(MONITOR_ORDERS),
      reverse: oneOf([true, undefined]),
      group: oneOf([...texts, undefined]),
      status: oneOf([...STATUS_ORDER, undefined, undefined]),
    };
    const { ids, groups } = createArranger('home')(monitors, search, FACTS);
    const matching = monitors.filter(({ status }) => search.status === undefined || status === search.status);
    expect(ids.toSorted()).toEqual(matching.map(({ id }) => id).toSorted());
    if (groups === null) continue;
    expect(groups.flatMap((group) => group.ids).toSorted()).toEqual(ids.toSorted());
    for (const group of groups) expect(ids.filter((id) => group.ids.includes(id))).toEqual(group.ids);
  }
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
