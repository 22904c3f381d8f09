import { expect, test } from '@jest/globals';
import type { MonitorRegion } from '@tocsin/contracts/monitors/events';
import { describeRegion, joinRegions } from './join-regions.ts';

const FIGURES = { uptime: 1, checks: 3, failures: 0, gaps: 0, latency: null };
const NOW: MonitorRegion = {
  region: 'eu',
  status: 'UP',
  failing: false,
  consecutiveFailures: 0,
  lastCheckedAt: '2026-01-01T00:00:00.000Z',
  hasSay: true,
  certificateExpiresAt: null,
};

test('every region has one row, whoever knows of it', () => {
  const us = { ...FIGURES, region: 'us' };
  const eu = { ...FIGURES, region: 'eu' };
  const ap = { ...NOW, region: 'ap' };
  expect(joinRegions([us, eu], [NOW, ap])).toEqual([
    { region: 'ap', figures: null, now: ap },
    { region: 'eu', figures: eu, now: NOW },
    { region: 'us', figures: us, now: null },
  ]);
  expect(joinRegions([], [])).toEqual([]);
});

test.each([
  [{}, 'Passing'],
  [{ status: null, lastCheckedAt: null, hasSay: false }, 'No result yet'],
  [{ hasSay: false }, 'No fresh result'],
  [{ status: 'DOWN', consecutiveFailures: 1 }, 'Failed once'],
  [{ status: 'DOWN', consecutiveFailures: 2 }, 'Failed 2 in a row'],
  [{ status: 'DOWN', failing: true, consecutiveFailures: 1 }, 'Failing'],
  [{ status: 'DOWN', failing: true, consecutiveFailures: 3 }, 'Failing, 3 in a row'],
  [{ status: 'DOWN', failing: true, consecutiveFailures: 3, hasSay: false }, 'No fresh result'],
] as const)('%j reads "%s"', (given, text) => {
  expect(describeRegion({ ...NOW, ...given })).toBe(text);
});
