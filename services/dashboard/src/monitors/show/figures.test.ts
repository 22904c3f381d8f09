import { expect, test } from '@jest/globals';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { regionWith } from '../testing/records.ts';
import {
  describeExpiry,
  describeRegion,
  figureColumns,
  formatShare,
  hasChecks,
  joinRegions,
  maintenanceOf,
  silentUntil,
  soonestExpiry,
} from './figures.ts';
import { phaseShares } from './phases.ts';

const TIMINGS = { dns: 10, tcp: null, tls: 0, firstByte: 30, download: 10 };

test('phases without a duration are not in the bar, and the shares add up to at most 100%', () => {
  expect(phaseShares(TIMINGS, 100)).toEqual([
    { phase: 'dns', color: '--phase-dns', percent: 10 },
    { phase: 'firstByte', color: '--phase-first-byte', percent: 30 },
    { phase: 'download', color: '--phase-download', percent: 10 },
  ]);
  const none = { dns: null, tcp: null, tls: null, firstByte: null, download: null };
  expect(phaseShares(none, 100)).toEqual([]);
  const sum = phaseShares(TIMINGS, 25).reduce((total, { percent }) => total + percent, 0);
  expect(sum).toBeCloseTo(100);
});

test.each([
  [1, '100.000%'],
  [0.999_999_9, '99.999%'],
  [0.99987, '99.987%'],
  [0, '0.000%'],
])('formats a share of %d as %s, rounded down', (share, text) => {
  expect(formatShare(share)).toBe(text);
});

const FIGURES = { passRate: 1, checks: 3, failures: 0, inconclusive: 0, gaps: 0, latency: null };

test('a period with only inconclusive or missed checks has checks', () => {
  const periods = [{}, { inconclusive: 1 }, { gaps: 1 }].map((fields) => ({
    ...FIGURES,
    checks: 0,
    ...fields,
  }));
  expect(periods.map(hasChecks)).toEqual([false, true, true]);
});

test('a table has a column for inconclusive checks only if there are some', () => {
  const latency = { p50: 10, p95: 20, p99: 30 };
  const figures = { ...FIGURES, failures: 1, gaps: 4, latency };
  const noLatency = { ...FIGURES, passRate: null, inconclusive: 2 };
  const format = (rows: readonly (typeof figures | typeof noLatency | null)[]): Record<string, string[]> => {
    const columns = figureColumns(rows, (row) => row);
    return Object.fromEntries(Object.entries(columns).map(([title, cell]) => [title, rows.map(cell)]));
  };
  expect(format([figures, null])).toEqual({
    'Checks passed': ['100.000%', '–'],
    Checks: ['3', '–'],
    Failed: ['1', '–'],
    Missed: ['4', '–'],
    p50: ['10 ms', '–'],
    p95: ['20 ms', '–'],
    p99: ['30 ms', '–'],
  });
  expect(format([figures, noLatency])).toMatchObject({
    'Checks passed': ['100.000%', '–'],
    Inconclusive: ['0', '2'],
    p50: ['10 ms', '–'],
  });
});

function expiring(...at: (string | null)[]): ReturnType<typeof soonestExpiry> {
  const regions = at.map((certificateExpiresAt) => ({ certificateExpiresAt }));
  return soonestExpiry(regions, Date.parse('2026-03-01T12:00:00.000Z'));
}

test('soonestExpiry takes the first expiry of all regions', () => {
  const expiresAt = '2026-03-20T00:00:00.000Z';
  expect(expiring('2026-06-01T00:00:00.000Z', null, expiresAt)).toMatchObject({ expiresAt, daysLeft: 18 });
  expect(expiring(null)).toBeNull();
});

test.each([
  ['2026-03-31T12:00:00.000Z', 'fine', '30 days left'],
  ['2026-03-31T11:59:59.000Z', 'soon', '29 days left'],
  ['2026-03-08T12:00:00.000Z', 'soon', '7 days left'],
  ['2026-03-08T11:59:59.000Z', 'critical', '6 days left'],
  ['2026-03-01T12:00:01.000Z', 'critical', 'less than a day left'],
  ['2026-03-01T11:59:59.000Z', 'expired', 'expired'],
])('an expiry at %s is %s: %s', (at, state, text) => {
  const expiry = expiring(at);
  expect([expiry?.state, expiry && describeExpiry(expiry)]).toEqual([state, text]);
});

test('joinRegions makes one row for each region', () => {
  const us = { ...FIGURES, region: 'us' };
  const eu = { ...FIGURES, region: 'eu' };
  const [current, ap] = [regionWith(), regionWith({ region: 'ap' })];
  expect(joinRegions([us, eu], [current, ap])).toEqual([
    { region: 'ap', figures: null, current: ap },
    { region: 'eu', figures: eu, current },
    { region: 'us', figures: us, current: null },
  ]);
});

test.each([
  [{}, 'Passing'],
  [{ status: null, lastCheckedAt: null, eligible: false }, 'No result yet'],
  [{ eligible: false }, 'No recent result'],
  [{ failing: true }, 'Recovering'],
  [{ status: 'DOWN', consecutiveFailures: 1 }, '1 failure'],
  [{ status: 'DOWN', failing: true, consecutiveFailures: 3 }, 'Failing, 3 consecutive failures'],
  [{ status: 'DOWN', failing: true, consecutiveFailures: 3, eligible: false }, 'No recent result'],
] as const)('describes %j as "%s"', (given, text) => {
  expect(describeRegion(regionWith(given))).toBe(text);
});

const at = (hour: number): string => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();

function windowOf(name: string, fields: Partial<ListedMaintenanceWindow>): ListedMaintenanceWindow {
  const coverage = { monitorIds: ['m'], selector: null, allMonitors: false, sources: null };
  const occurrences = { state: 'scheduled', currentOccurrence: null, nextOccurrence: null };
  return { id: name, name, ...coverage, ...occurrences, ...fields } as ListedMaintenanceWindow;
}

const LATER = windowOf('later', { nextOccurrence: { startsAt: at(9), endsAt: at(10) } });
const SOON = windowOf('soon', { nextOccurrence: { startsAt: at(5), endsAt: at(6) } });
const running = (name: string, startsAt: string, endsAt: string): ListedMaintenanceWindow =>
  windowOf(name, { state: 'running', currentOccurrence: { startsAt, endsAt } });
const RUNNING = running('running', at(3), at(8));
const LONGER = running('longer', at(4), at(11));

test('maintenanceOf sorts running windows first and omits ended windows and windows of other monitors', () => {
  const others = [windowOf('over', { state: 'ended' }), windowOf('another', { monitorIds: ['n'] })];
  const monitor = { id: 'm', labels: { app: 'shop' }, source: null };
  expect(maintenanceOf(monitor, [LATER, SOON, RUNNING, ...others])).toEqual([RUNNING, SOON, LATER]);
});

test('silentUntil is the end of the last running occurrence', () => {
  expect(silentUntil([LATER])).toBeNull();
  expect(silentUntil([LONGER, RUNNING, LATER])).toBe(at(11));
});
