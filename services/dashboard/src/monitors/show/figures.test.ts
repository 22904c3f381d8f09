import { describe, expect, test } from '@jest/globals';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { MonitorRegion } from '@tocsin/contracts/monitors/events';
import {
  describeChecks,
  describeExpiry,
  describeRegion,
  countColumns,
  formatCounts,
  formatPercentiles,
  formatUptime,
  hasChecks,
  joinRegions,
  maintenanceOf,
  silentUntil,
  soonestExpiry,
} from './figures.ts';

test.each([
  [1, '100%'],
  [0.999_999_9, '99.999%'],
  [0.99987, '99.987%'],
  [0.9995, '99.95%'],
  [0.99, '99.00%'],
  [0.57, '57.00%'],
  [0.5, '50.00%'],
  [0.000_001, '0.00%'],
  [0, '0.00%'],
])('formats an uptime of %d as %s, rounded down', (uptime, text) => {
  expect(formatUptime(uptime)).toBe(text);
});

test('describes failed and missed checks only if there are any', () => {
  const figures = { uptime: 1, checks: 2_880, failures: 0, inconclusive: 0, gaps: 0, latency: null };
  expect(describeChecks(figures)).toBe('2,880 checks');
  expect(describeChecks({ ...figures, checks: 1, failures: 1, inconclusive: 0, gaps: 1 })).toBe(
    '1 check, 1 failed, 1 missed',
  );
  expect(describeChecks({ ...figures, checks: 0, gaps: 12 })).toBe('0 checks, 12 missed');
  expect(describeChecks({ ...figures, failures: 1, inconclusive: 3 })).toBe(
    '2,880 checks, 1 failed, 3 inconclusive',
  );
});

test('an inconclusive or missed check is not a period without checks', () => {
  const none = { ...FIGURES, checks: 0 };
  expect(hasChecks(none)).toBe(false);
  expect(hasChecks({ ...none, inconclusive: 1 })).toBe(true);
  expect(hasChecks({ ...none, gaps: 1 })).toBe(true);
});

test('a table has a column for inconclusive checks only if there are any', () => {
  const latency = { p50: 10, p95: 20, p99: 30 };
  const figures = { ...FIGURES, failures: 1, gaps: 4, latency };
  expect(countColumns([null, figures])).toEqual(['Uptime', 'Checks', 'Failed', 'Missed']);
  expect(formatCounts(figures, countColumns([figures]))).toEqual(['100%', '3', '1', '4']);
  const columns = countColumns([figures, { ...figures, inconclusive: 2 }]);
  expect(columns).toEqual(['Uptime', 'Checks', 'Failed', 'Inconclusive', 'Missed']);
  expect(formatCounts({ ...figures, inconclusive: 2 }, columns)).toEqual(['100%', '3', '1', '2', '4']);
  expect(formatCounts(null, columns)).toEqual(columns.map(() => '–'));
  expect([formatPercentiles(figures), formatPercentiles(null)]).toEqual([
    ['10 ms', '20 ms', '30 ms'],
    ['–', '–', '–'],
  ]);
});

describe('soonestExpiry', () => {
  const now = Date.parse('2026-03-01T12:00:00.000Z');
  const expiring = (...at: (string | null)[]): ReturnType<typeof soonestExpiry> =>
    soonestExpiry(
      at.map((certificateExpiresAt) => ({ certificateExpiresAt })),
      now,
    );

  test('is null if no region has seen one', () => {
    expect(expiring()).toBeNull();
    expect(expiring(null, null)).toBeNull();
  });

  test('takes the first expiry of all regions', () => {
    expect(expiring('2026-06-01T00:00:00.000Z', null, '2026-03-20T00:00:00.000Z')).toMatchObject({
      expiresAt: '2026-03-20T00:00:00.000Z',
      daysLeft: 18,
      state: 'soon',
    });
  });

  test.each([
    ['2026-03-31T12:00:00.000Z', 'fine', '30 days left'],
    ['2026-03-31T11:59:59.000Z', 'soon', '29 days left'],
    ['2026-03-08T12:00:00.000Z', 'soon', '7 days left'],
    ['2026-03-08T11:59:59.000Z', 'critical', '6 days left'],
    ['2026-03-02T12:00:00.000Z', 'critical', '1 day left'],
    ['2026-03-01T12:00:01.000Z', 'critical', 'less than a day left'],
    ['2026-03-01T11:59:59.000Z', 'expired', 'expired'],
  ])('describes an expiry at %s as %s', (at, state, text) => {
    const expiry = expiring(at);
    expect(expiry?.state).toBe(state);
    expect(expiry && describeExpiry(expiry)).toBe(text);
  });
});

const FIGURES = { uptime: 1, checks: 3, failures: 0, inconclusive: 0, gaps: 0, latency: null };
const NOW: MonitorRegion = {
  region: 'eu',
  status: 'UP',
  failing: false,
  consecutiveFailures: 0,
  lastCheckedAt: '2026-01-01T00:00:00.000Z',
  eligible: true,
  certificateExpiresAt: null,
};

test('joinRegions makes one row for each region', () => {
  const us = { ...FIGURES, region: 'us' };
  const eu = { ...FIGURES, region: 'eu' };
  const ap = { ...NOW, region: 'ap' };
  expect(joinRegions([us, eu], [NOW, ap])).toEqual([
    { region: 'ap', figures: null, current: ap },
    { region: 'eu', figures: eu, current: NOW },
    { region: 'us', figures: us, current: null },
  ]);
  expect(joinRegions([], [])).toEqual([]);
});

test.each([
  [{}, 'Passing'],
  [{ status: null, lastCheckedAt: null, eligible: false }, 'No result yet'],
  [{ eligible: false }, 'No recent result'],
  [{ failing: true }, 'Recovering'],
  [{ status: 'DOWN', consecutiveFailures: 1 }, '1 failure'],
  [{ status: 'DOWN', consecutiveFailures: 2 }, '2 consecutive failures'],
  [{ status: 'DOWN', failing: true, consecutiveFailures: 1 }, 'Failing, 1 failure'],
  [{ status: 'DOWN', failing: true, consecutiveFailures: 3 }, 'Failing, 3 consecutive failures'],
  [{ status: 'DOWN', failing: true, consecutiveFailures: 3, eligible: false }, 'No recent result'],
] as const)('describes %j as "%s"', (given, text) => {
  expect(describeRegion({ ...NOW, ...given })).toBe(text);
});

const at = (hour: number): string => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();

function windowOf(name: string, change: Partial<ListedMaintenanceWindow>): ListedMaintenanceWindow {
  return {
    id: name,
    name,
    startsAt: at(0),
    endsAt: at(1),
    monitorIds: ['m'],
    selector: null,
    allMonitors: false,
    sources: null,
    rrule: null,
    timeZone: 'UTC',
    state: 'scheduled',
    currentOccurrence: null,
    nextOccurrence: null,
    createdAt: at(0),
    updatedAt: at(0),
    ...change,
  };
}

const LATER = windowOf('later', { nextOccurrence: { startsAt: at(9), endsAt: at(10) } });
const SOON = windowOf('soon', { nextOccurrence: { startsAt: at(5), endsAt: at(6) } });
const RUNNING = windowOf('running', {
  state: 'running',
  currentOccurrence: { startsAt: at(3), endsAt: at(8) },
});
const LONGER = windowOf('longer', {
  state: 'running',
  currentOccurrence: { startsAt: at(4), endsAt: at(11) },
});

test('maintenanceOf sorts running windows first and leaves out ended windows and those of other monitors', () => {
  const windows = [
    LATER,
    SOON,
    RUNNING,
    windowOf('over', { state: 'ended' }),
    windowOf('another', { monitorIds: ['n'] }),
  ];
  expect(
    maintenanceOf({ id: 'm', labels: { app: 'shop' }, source: null }, windows).map(({ name }) => name),
  ).toEqual(['running', 'soon', 'later']);
});

test('silentUntil is the end of the last running occurrence', () => {
  expect(silentUntil([LATER])).toBeNull();
  expect(silentUntil([LONGER, RUNNING, LATER])).toBe(at(11));
});
