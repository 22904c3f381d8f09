import { expect, test } from '@jest/globals';
import type { MonitorStats, StatePeriod } from '@tocsin/contracts/monitors/stats';
import { historySearchSchema } from './history-search.ts';
import { choosePeriod, isTooLong, placeOf, timeAt, timeTicks, zoomIn, zoomOut, zoomTo } from './period.ts';
import {
  describeMeasured,
  describeState,
  failedPercent,
  latencyTicks,
  latencyTop,
  stateAt,
  stateCause,
} from './plot-data.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.parse('2026-03-01T12:34:56.789Z');
const AXIS = { from: NOW - HOUR_MS, to: NOW };

const iso = (time: number): string => new Date(time).toISOString();

const OLD_MS = 400 * DAY_MS;
const ZOOMED = { from: '2026-03-01T10:00:00.000Z', to: '2026-03-01T11:00:00.000Z' };

test.each([
  ['nothing', {}, OLD_MS, { window: '24h' }],
  ['a range', { range: '7d' }, OLD_MS, { window: '7d' }],
  ['a period', { range: '7d', ...ZOOMED }, OLD_MS, ZOOMED],
  ['a period that ends before it begins', { from: ZOOMED.to, to: ZOOMED.from }, OLD_MS, { window: '24h' }],
  ['more than the api returns', { from: '2020-01-01T00:00:00Z', to: ZOOMED.to }, OLD_MS, { window: '24h' }],
  ['nothing, of a monitor of 3 minutes', {}, 3 * MINUTE_MS, { window: '1h' }],
  ['a long range, of a monitor of 3 minutes', { range: '90d' }, 3 * MINUTE_MS, { window: '90d' }],
] as const)('choosePeriod of %s', (_, search, ageMs, expected) => {
  expect(choosePeriod(search, ageMs)).toEqual(expected);
});

test('invalid periods in the URL are ignored', () => {
  expect(historySearchSchema.parse({ range: '2h', from: 'then', to: 7 })).toEqual({});
});

test.each([
  [3 * MINUTE_MS, ['1h']],
  [DAY_MS, ['1h', '6h', '24h']],
  [31 * DAY_MS, ['1h', '6h', '24h', '7d', '30d', '90d']],
])('a monitor of %d ms has the windows %j', (ageMs, windows) => {
  const all = ['1h', '6h', '24h', '7d', '30d', '90d'] as const;
  expect(all.filter((window) => !isTooLong(window, ageMs))).toEqual(windows);
});

test('an outage has its exact position, clipped to the axis', () => {
  const days = { from: NOW - 90 * DAY_MS, to: NOW };
  const short = placeOf(days, NOW - 45 * DAY_MS, NOW - 45 * DAY_MS + 90_000);
  expect(short).toEqual({ left: 50, width: expect.closeTo(100 / 86_400, 10) });
  expect(placeOf(AXIS, NOW - 2 * HOUR_MS, NOW - HOUR_MS / 2)).toEqual({ left: 0, width: 50 });
  expect(placeOf(AXIS, NOW - HOUR_MS / 2, NOW + HOUR_MS)).toEqual({ left: 50, width: 50 });
  expect(placeOf(AXIS, NOW - 3 * HOUR_MS, NOW - 2 * HOUR_MS)).toEqual({ left: 0, width: 0 });
  expect([timeAt(AXIS, -1), timeAt(AXIS, 0.5), timeAt(AXIS, 2)]).toEqual([AXIS.from, NOW - HOUR_MS / 2, NOW]);
});

test.each([
  ['forwards', NOW - 40 * MINUTE_MS, NOW - 20 * MINUTE_MS],
  ['backwards', NOW - 20 * MINUTE_MS, NOW - 40 * MINUTE_MS],
])('a drag %s gives whole minutes', (_, one, other) => {
  expect(zoomTo(AXIS, one, other, NOW)).toEqual({
    from: '2026-03-01T11:54:00.000Z',
    to: '2026-03-01T12:15:00.000Z',
  });
});

test('zooming in gives a period of at least five minutes that does not end in the future', () => {
  const { from, to } = zoomTo(AXIS, NOW - 30 * MINUTE_MS, NOW - 30 * MINUTE_MS + 1_000, NOW) ?? ZOOMED;
  expect(Date.parse(to) - Date.parse(from)).toBeGreaterThanOrEqual(5 * MINUTE_MS);
  expect(zoomTo(AXIS, NOW, NOW, NOW)).toEqual({ from: iso(NOW - 5 * MINUTE_MS), to: iso(NOW) });
  expect(zoomTo(AXIS, NOW - 20 * MINUTE_MS, NOW, NOW)?.to).toBe(iso(NOW));
  expect(zoomIn(AXIS, NOW - 10 * MINUTE_MS, NOW)?.to).toBe(iso(NOW));
});

test('zooms in and out, but not to the whole axis', () => {
  expect(zoomTo(AXIS, AXIS.from, AXIS.to, NOW)).toBeNull();
  const closer = zoomIn(AXIS, NOW - HOUR_MS / 2, NOW);
  expect(closer).toEqual({ from: '2026-03-01T11:49:00.000Z', to: '2026-03-01T12:20:00.000Z' });
  expect(zoomOut(AXIS, NOW)).toEqual({ from: iso(NOW - 1.5 * HOUR_MS), to: iso(NOW) });
  const year = { from: NOW - 380 * DAY_MS, to: NOW };
  expect(zoomOut(year, NOW)).toEqual({ from: iso(NOW - 400 * DAY_MS), to: iso(NOW) });
});

test.each([5 * MINUTE_MS, HOUR_MS, DAY_MS, 30 * DAY_MS, 400 * DAY_MS])(
  'an axis of %d ms has few labels, in order',
  (length) => {
    const ticks = timeTicks({ from: NOW - length, to: NOW });
    expect(ticks.length).toBeGreaterThanOrEqual(3);
    expect(ticks.length).toBeLessThanOrEqual(9);
    const places = ticks.map(({ left }) => left);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places.every((left) => left >= 0 && left < 100)).toBe(true);
  },
);

test('the latency axis has room above the highest value, even without values', () => {
  const none = { latency: null, timings: null };
  const latency = { p50: 10, p95: 20, p99: 200 };
  const timings = { dns: 90, tcp: 1, tls: 2, firstByte: 3, download: 4 };
  const series = [none, { latency, timings }, none] as MonitorStats['series'];
  expect(latencyTop(series, 'phases')).toBeCloseTo(115);
  expect(latencyTop(series, 'percentiles')).toBeCloseTo(230);
  expect(latencyTop(series.slice(0, 1), 'phases')).toBe(10);
  expect(latencyTicks(2_300)).toEqual([0, 1_000, 2_000]);
});

test.each([
  [0, 0, 0],
  [60, 0, 0],
  [60, 3, 1],
  [60, 60, 20],
])('of %d checks, %d failed: %d %% of the column is red', (checks, failures, percent) => {
  expect(failedPercent({ checks, failures })).toBe(percent);
});

const UP: StatePeriod = {
  status: 'UP',
  from: '2026-03-01T12:00:00.000Z',
  to: '2026-03-01T12:10:00.000Z',
  count: 1,
  downSeconds: 0,
  incidentId: null,
  cause: null,
  errorDetail: null,
};
const DOWN: Partial<StatePeriod> = { status: 'DOWN', downSeconds: 600, cause: 'HTTP_503' };
const CAUSE = 'The status code was 503';

test.each<[Partial<StatePeriod>, string, string | null]>([
  [{}, 'Up for 10 min', null],
  [{ status: null }, 'No data for 10 min', null],
  [{ status: 'PENDING', to: '2026-03-01T12:00:00.900Z' }, 'Pending', null],
  [{ ...DOWN, count: 3, downSeconds: 0.5 }, 'Down for 10 min, 2 changes', CAUSE],
  [DOWN, 'Down for 10 min', CAUSE],
  [{ ...DOWN, errorDetail: 'no response' }, 'Down for 10 min', 'No response'],
  [{ ...DOWN, count: 4, downSeconds: 90.5 }, 'Down for 1 min 30 s of 10 min, 3 changes', CAUSE],
])('describes %j', (fields, text, cause) => {
  const period = { ...UP, ...fields };
  expect([describeState(period), stateCause(period)]).toEqual([text, cause]);
});

test.each([
  [3_599.5, 'Measured throughout'],
  [3_000, 'Without results for 10 min'],
  [0, 'Not measured'],
])('of an hour since the creation, %d s are known: %s', (knownSeconds, text) => {
  const [from, to] = [NOW - DAY_MS, NOW].map(iso) as [string, string];
  expect(describeMeasured({ from, to, knownSeconds }, iso(NOW - HOUR_MS))).toBe(text);
});

test('finds a short outage anywhere within its drawn width', () => {
  const start = Date.parse(UP.from);
  const at = (seconds: number): string => new Date(start + seconds * 1_000).toISOString();
  const periods: StatePeriod[] = [
    { ...UP, from: at(0), to: at(10_000) },
    { ...UP, status: 'DOWN', from: at(10_000), to: at(10_090) },
    { ...UP, from: at(10_090), to: at(20_000) },
  ];
  const indexAt = (seconds: number, pixelSeconds: number): number =>
    stateAt(periods, start + seconds * 1_000, pixelSeconds * 1_000);
  const places = [0, 7_990, 8_010, 10_050, 11_000, 13_990, 14_010, 19_999];
  expect(places.map((place) => indexAt(place, 1_000))).toEqual([0, 0, 1, 1, 1, 1, 2, 2]);
  expect(places.map((place) => indexAt(place, 1))).toEqual([0, 0, 0, 1, 2, 2, 2, 2]);
  expect([indexAt(-1, 1), indexAt(20_000, 1)]).toEqual([-1, -1]);
});
