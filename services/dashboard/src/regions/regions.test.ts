import { expect, test } from '@jest/globals';
import type { Region } from '@tocsin/contracts/regions/region';
import {
  byUrgency,
  describeFailing,
  disconnectedRegions,
  isolatedRegions,
  isStale,
  lateRegions,
  regionState,
  unservedRegions,
} from './regions.ts';

const serving: Region = {
  region: 'eu',
  kind: 'checkers',
  name: null,
  shared: true,
  workers: 2,
  agents: [],
  waiting: 0,
  lagSeconds: 0,
  monitors: 3,
  served: true,
  lateSince: null,
  health: 'unknown',
  since: null,
  canaryMonitorIds: [],
};

test.each<[string, Partial<Region>, ReturnType<typeof regionState>]>([
  ['with workers', {}, 'serving'],
  ['whose oldest check is late', { lagSeconds: 15 }, 'late'],
  ['that records nothing', { lateSince: '2026-03-01T03:12:00.000Z' }, 'late'],
  ['without workers', { workers: 0, served: false }, 'unserved'],
  ['without workers or monitors', { workers: 0, served: false, monitors: 0 }, 'idle'],
  ['whose queue is unavailable', { workers: null, served: null, lagSeconds: null }, 'unknown'],
])('a region %s', (_, change, state) => {
  expect(regionState({ ...serving, ...change })).toBe(state);
});

test('byUrgency puts isolated regions first, then other problems', () => {
  const since = '2026-03-01T03:12:00.000Z';
  const regions: Region[] = [
    serving,
    { ...serving, region: 'us', served: false },
    { ...serving, region: 'ap' },
    { ...serving, region: 'sa', health: 'isolated', since },
  ];
  expect(byUrgency(regions).map(({ region }) => region)).toEqual(['sa', 'us', 'ap', 'eu']);
  expect(isolatedRegions(regions)).toEqual([{ region: 'sa', since }]);
});

test('lists regions without a checker', () => {
  const unserved = { ...serving, served: false };
  const regions = [
    serving,
    { ...unserved, region: 'us' },
    { ...serving, region: 'ap', served: null },
    { ...unserved, region: 'sa', monitors: 0 },
  ];
  expect(unservedRegions(regions)).toEqual(['us', 'sa']);
});

test('lists regions with monitors that record no results', () => {
  const lateSince = '2026-03-01T03:12:00.000Z';
  const late = { ...serving, lateSince };
  expect(lateRegions([serving, { ...late, region: 'us' }, { ...late, monitors: 0 }])).toEqual([
    { region: 'us', since: lateSince },
  ]);
});

test('lists regions with monitors that have lost their agents, but not as late', () => {
  const since = '2026-03-01T03:12:00.000Z';
  const office: Region = { ...serving, kind: 'agents', health: 'disconnected', since, lateSince: since };
  const regions = [serving, { ...office, region: 'office' }, { ...office, region: 'branch', monitors: 0 }];
  expect(disconnectedRegions(regions)).toEqual([{ region: 'office', since }]);
  expect(lateRegions(regions)).toEqual([]);
});

test.each<[string, string[], number, boolean]>([
  ['all of its regions record nothing', ['eu', 'us'], 61, true],
  ['one of its regions records', ['eu'], 61, false],
  ['its next check is not due', ['eu', 'us'], 59, false],
])('the status of a monitor may be old if %s: %j, %i s, %s', (_, silent, seconds, expected) => {
  const lastCheckedAt = '2026-03-01T03:12:00.000Z';
  const now = Date.parse(lastCheckedAt) + seconds * 1_000;
  expect(isStale({ lastCheckedAt, interval: 60 }, ['eu', 'us'], silent, now)).toBe(expected);
});

test.each([
  [[], 3, 'First failed in region eu.'],
  [['default'], 1, 'Failing in its only region, default.'],
  [['eu', 'us'], 3, 'Failing in 2 of 3 regions: eu and us.'],
])('with %j of %i failing regions, an incident says "%s"', (failing, total, text) => {
  expect(describeFailing(failing, total, 'eu')).toBe(text);
});
