import { describe, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { describeTotals, MonitorArranger } from './arrange-monitors.ts';

const NO_LATENCIES = new Map<string, number>();

function monitorOf(id: string, fields: Partial<Monitor> = {}): Monitor {
  return {
    id,
    name: id,
    url: `https://${id}.example`,
    type: 'HTTP',
    interval: 60,
    timeout: 10,
    method: 'GET',
    headers: null,
    body: null,
    assertions: null,
    failureThreshold: 1,
    regions: [],
    runbookUrl: null,
    externalId: null,
    source: null,
    status: 'UP',
    statusSince: '2026-03-01T12:00:00.000Z',
    lastCheckedAt: null,
    createdAt: '2026-03-01T12:00:00.000Z',
    updatedAt: '2026-03-01T12:00:00.000Z',
    ...fields,
  };
}

const MONITORS = [
  monitorOf('up10', { name: 'Shop 10', createdAt: '2026-03-03T12:00:00.000Z' }),
  monitorOf('up2', { name: 'shop 2', regions: ['eu', 'us'], externalId: 'Key-2' }),
  monitorOf('old', { status: 'DOWN', statusSince: '2026-03-01T13:00:00.000Z', regions: ['us'] }),
  monitorOf('new', { status: 'DOWN', statusSince: '2026-03-01T14:00:00.000Z', source: 'prod/shop.yaml' }),
  monitorOf('paused', { status: 'MAINTENANCE' }),
  monitorOf('fresh', { status: 'PENDING', url: 'https://fresh.example/Health' }),
];

describe('MonitorArranger', () => {
  test('sorts by status by default: the latest outage first, then by name', () => {
    const { ids } = new MonitorArranger('home').arrange(MONITORS, {}, NO_LATENCIES);
    expect(ids).toEqual(['new', 'old', 'fresh', 'paused', 'up2', 'up10']);
  });

  test.each([
    ['name', ['fresh', 'new', 'old', 'paused', 'up2', 'up10']],
    ['newest', ['up10', 'fresh', 'new', 'old', 'paused', 'up2']],
    ['latency', ['old', 'up2', 'fresh', 'new', 'paused', 'up10']],
  ] as const)('by %s', (order, ids) => {
    const latencies = new Map([
      ['up2', 5],
      ['old', 70],
    ]);
    expect(new MonitorArranger('home').arrange(MONITORS, { order }, latencies).ids).toEqual(ids);
  });

  test.each([
    ['SHOP', ['new', 'up2', 'up10']],
    ['health', ['fresh']],
    ['key-2', ['up2']],
    ['prod yaml', ['new']],
    ['shop nothing', []],
    ['  ', ['new', 'old', 'fresh', 'paused', 'up2', 'up10']],
  ])('the search %j finds name, url, external id and source, each word somewhere', (q, ids) => {
    expect(new MonitorArranger('home').arrange(MONITORS, { q }, NO_LATENCIES).ids).toEqual(ids);
  });

  test('filters by region; monitors without regions are in the default region', () => {
    const ids = (region: string): readonly string[] =>
      new MonitorArranger('home').arrange(MONITORS, { region, order: 'name' }, NO_LATENCIES).ids;
    expect(ids('us')).toEqual(['old', 'up2']);
    expect(ids('home')).toEqual(['fresh', 'new', 'paused', 'up10']);
    expect(ids('mars')).toEqual([]);
  });

  test('a status filter changes no counts, and no filter changes the totals', () => {
    const search = { region: 'us', status: 'UP' } as const;
    const { ids, counts, totals, regions } = new MonitorArranger('home').arrange(
      MONITORS,
      search,
      NO_LATENCIES,
    );
    expect(ids).toEqual(['up2']);
    expect(counts).toEqual({ DOWN: 1, PENDING: 0, MAINTENANCE: 0, UP: 1 });
    expect(totals).toEqual({ DOWN: 2, PENDING: 1, MAINTENANCE: 1, UP: 2 });
    expect(regions).toEqual(['eu', 'home', 'us']);
  });

  test('returns the same object after a check', () => {
    const arranger = new MonitorArranger('home');
    const first = arranger.arrange(MONITORS, { q: 'shop' }, NO_LATENCIES);
    const checked = MONITORS.map((monitor) => ({ ...monitor, lastCheckedAt: '2026-03-01T15:00:00.000Z' }));
    expect(arranger.arrange(checked, { q: 'shop' }, NO_LATENCIES)).toBe(first);
  });

  test.each<[string, (monitors: Monitor[]) => Monitor[]]>([
    ['a status', ([one, ...rest]) => [{ ...(one as Monitor), status: 'DOWN' }, ...rest]],
    ['a name', ([one, ...rest]) => [{ ...(one as Monitor), name: 'A' }, ...rest]],
    ['a region', ([one, ...rest]) => [{ ...(one as Monitor), regions: ['mars'] }, ...rest]],
    ['one more', (monitors) => [...monitors, monitorOf('more')]],
    ['one less', ([, ...rest]) => rest],
  ])('%s counts at once', (_, change) => {
    const arranger = new MonitorArranger('home');
    arranger.arrange(MONITORS, {}, NO_LATENCIES);
    const changed = change(MONITORS);
    const afresh = new MonitorArranger('home').arrange(changed, {}, NO_LATENCIES);
    expect(arranger.arrange(changed, {}, NO_LATENCIES)).toEqual(afresh);
    expect(afresh).not.toEqual(new MonitorArranger('home').arrange(MONITORS, {}, NO_LATENCIES));
  });

  test('applies a new search, order or latencies at once', () => {
    const arranger = new MonitorArranger('home');
    const first = arranger.arrange(MONITORS, {}, NO_LATENCIES);
    expect(arranger.arrange(MONITORS, { order: 'name' }, NO_LATENCIES).ids).not.toEqual(first.ids);
    const byLatency = (id: string): string | undefined =>
      arranger.arrange(MONITORS, { order: 'latency' }, new Map([[id, 5]])).ids[0];
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
