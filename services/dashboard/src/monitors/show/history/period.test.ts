import { describe, expect, test } from '@jest/globals';
import { historySearchSchema } from './history-search.ts';
import {
  choosePeriod,
  describeFromTo,
  isTooLong,
  placeOf,
  timeAt,
  timeTicks,
  zoomIn,
  zoomOut,
  zoomTo,
} from './period.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.parse('2026-03-01T12:34:56.789Z');
const AXIS = { from: NOW - HOUR_MS, to: NOW };

const iso = (time: number): string => new Date(time).toISOString();

describe('choosePeriod', () => {
  const old = 400 * DAY_MS;
  const zoomed = { from: '2026-03-01T10:00:00.000Z', to: '2026-03-01T11:00:00.000Z' };
  test.each([
    ['nothing', {}, old, { window: '24h' }],
    ['a range', { range: '7d' }, old, { window: '7d' }],
    ['a period', { range: '7d', ...zoomed }, old, zoomed],
    ['half a period', { range: '7d', from: zoomed.from }, old, { window: '7d' }],
    ['a period that ends before it begins', { from: zoomed.to, to: zoomed.from }, old, { window: '24h' }],
    ['more than the api returns', { from: '2020-01-01T00:00:00Z', to: zoomed.to }, old, { window: '24h' }],
    ['nothing, of a monitor of 3 minutes', {}, 3 * MINUTE_MS, { window: '1h' }],
    ['nothing, of a monitor of 3 hours', {}, 3 * HOUR_MS, { window: '6h' }],
    ['a long range, of a monitor of 3 minutes', { range: '90d' }, 3 * MINUTE_MS, { window: '90d' }],
  ] as const)('of %s', (_, search, ageMs, expected) => {
    expect(choosePeriod(search, ageMs)).toEqual(expected);
  });
});

test('the URL may contain anything', () => {
  expect(historySearchSchema.parse({ range: '2h', from: 'then', to: 7 })).toEqual({});
});

test.each([
  [3 * MINUTE_MS, ['1h']],
  [HOUR_MS + 1, ['1h', '6h']],
  [DAY_MS, ['1h', '6h', '24h']],
  [8 * DAY_MS, ['1h', '6h', '24h', '7d', '30d']],
  [31 * DAY_MS, ['1h', '6h', '24h', '7d', '30d', '90d']],
])('a monitor of %d ms has the windows %j', (ageMs, windows) => {
  const all = ['1h', '6h', '24h', '7d', '30d', '90d'] as const;
  expect(all.filter((window) => !isTooLong(window, ageMs))).toEqual(windows);
});

test('an outage of 90 s has its true place in 90 days', () => {
  const axis = { from: NOW - 90 * DAY_MS, to: NOW };
  const { left, width } = placeOf(axis, NOW - 45 * DAY_MS, NOW - 45 * DAY_MS + 90_000);
  expect(left).toBe(50);
  expect(width).toBeCloseTo((90 / (90 * 86_400)) * 100, 10);
});

test('what is beyond the axis is cut off', () => {
  expect(placeOf(AXIS, NOW - 2 * HOUR_MS, NOW - HOUR_MS / 2)).toEqual({ left: 0, width: 50 });
  expect(placeOf(AXIS, NOW - HOUR_MS / 2, NOW + HOUR_MS)).toEqual({ left: 50, width: 50 });
  expect(placeOf(AXIS, NOW - 3 * HOUR_MS, NOW - 2 * HOUR_MS)).toEqual({ left: 0, width: 0 });
  expect([timeAt(AXIS, -1), timeAt(AXIS, 0.5), timeAt(AXIS, 2)]).toEqual([AXIS.from, NOW - HOUR_MS / 2, NOW]);
});

describe('zoomTo', () => {
  test.each([
    ['forwards', NOW - 40 * MINUTE_MS, NOW - 20 * MINUTE_MS],
    ['backwards', NOW - 20 * MINUTE_MS, NOW - 40 * MINUTE_MS],
  ])('a drag %s gives whole minutes', (_, one, other) => {
    expect(zoomTo(AXIS, one, other, NOW)).toEqual({
      from: '2026-03-01T11:54:00.000Z',
      to: '2026-03-01T12:15:00.000Z',
    });
  });

  test('a short drag shows at least five minutes around it, before now', () => {
    const zoomed = zoomTo(AXIS, NOW - 30 * MINUTE_MS, NOW - 30 * MINUTE_MS + 1_000, NOW);
    expect(Date.parse(zoomed?.to ?? '') - Date.parse(zoomed?.from ?? '')).toBeGreaterThanOrEqual(
      5 * MINUTE_MS,
    );
    expect(zoomTo(AXIS, NOW, NOW, NOW)?.from).toBe(iso(NOW - 5 * MINUTE_MS));
  });

  test('a period that is rounded or padded ends no later than now', () => {
    const ends = [
      zoomTo(AXIS, NOW - 20 * MINUTE_MS, NOW, NOW),
      zoomTo(AXIS, NOW - MINUTE_MS, NOW - MINUTE_MS, NOW),
      zoomIn(AXIS, NOW - 10 * MINUTE_MS, NOW),
    ].map((zoomed) => zoomed?.to);
    expect(ends).toEqual([iso(NOW), iso(NOW), iso(NOW)]);
  });

  test('the whole axis is no zoom', () => {
    expect(zoomTo(AXIS, AXIS.from, AXIS.to, NOW)).toBeNull();
  });

  test('twice in and out', () => {
    const closer = zoomIn(AXIS, NOW - HOUR_MS / 2, NOW);
    expect(closer).toEqual({ from: '2026-03-01T11:49:00.000Z', to: '2026-03-01T12:20:00.000Z' });
    expect(zoomOut(AXIS, NOW)).toEqual({ from: iso(NOW - 1.5 * HOUR_MS), to: iso(NOW) });
    const year = { from: NOW - 380 * DAY_MS, to: NOW };
    expect(zoomOut(year, NOW)).toEqual({ from: iso(NOW - 400 * DAY_MS), to: iso(NOW) });
  });
});

test.each([5 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS, 7 * DAY_MS, 30 * DAY_MS, 90 * DAY_MS, 400 * DAY_MS])(
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

test('a period in a sentence has no dash', () => {
  expect(describeFromTo(NOW - HOUR_MS, NOW)).toMatch(/^from [^–]+ to [^–]+$/);
});
