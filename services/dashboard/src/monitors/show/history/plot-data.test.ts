import { expect, test } from '@jest/globals';
import type { MonitorStats, StatePeriod } from '@tocsin/contracts/monitors/stats';
import { describeState, failedPercent, latencyTicks, latencyTop, stateAt, stateCause } from './plot-data.ts';

function bucketsOf(count: number, highest = 0): MonitorStats['series'] {
  return Array.from({ length: count }, (_, index) => ({
    start: new Date(Date.UTC(2026, 0, 1, index)).toISOString(),
    uptime: null,
    checks: 0,
    failures: 0,
    inconclusive: 0,
    gaps: 0,
    latency: index === 1 ? { p50: 10, p95: 20, p99: 2 * highest } : null,
    timings: index === 1 ? { dns: highest - 10, tcp: 1, tls: 2, firstByte: 3, download: 4 } : null,
  }));
}

test('the latency axis has room above what it shows, also without any', () => {
  expect(latencyTop(bucketsOf(3, 100), 'phases')).toBeCloseTo(115);
  expect(latencyTop(bucketsOf(3, 100), 'percentiles')).toBeCloseTo(230);
  expect(latencyTop(bucketsOf(1), 'phases')).toBe(10);
});

test.each([
  [10, [0, 5, 10]],
  [115, [0, 50, 100]],
  [2_300, [0, 1_000, 2_000]],
])('the latency axis up to %d ms has the labels %j', (top, ticks) => {
  expect(latencyTicks(top)).toEqual(ticks);
});

test.each([
  [0, 0, 0],
  [60, 0, 0],
  [60, 3, 5],
  [60, 60, 100],
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

test.each<[Partial<StatePeriod>, string, string | null]>([
  [{}, 'Up for 10 min', null],
  [{ status: null }, 'No data for 10 min', null],
  [{ status: 'PENDING', to: '2026-03-01T12:00:00.900Z' }, 'Pending', null],
  [{ status: 'PENDING', to: '2026-03-01T12:00:00.900Z', count: 3 }, 'Pending, 2 changes', null],
  [{ ...DOWN, count: 3, downSeconds: 0.5 }, 'Down for 10 min, 2 changes', 'The status code was 503'],
  [{ status: 'MAINTENANCE', count: 3 }, 'Maintenance for 10 min, 2 changes', null],
  [DOWN, 'Down for 10 min', 'The status code was 503'],
  [{ ...DOWN, errorDetail: 'no response' }, 'Down for 10 min', 'No response'],
  [
    { ...DOWN, count: 4, downSeconds: 90.5 },
    'Down for 1 min 30 s of 10 min, 3 changes',
    'The status code was 503',
  ],
])('describes %j', (fields, text, cause) => {
  const period = { ...UP, ...fields };
  expect([describeState(period), stateCause(period)]).toEqual([text, cause]);
});

test('an outage that is drawn wider than it lasted is found where it is drawn', () => {
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
