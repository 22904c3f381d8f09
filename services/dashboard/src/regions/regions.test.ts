import { expect, test } from '@jest/globals';
import type { Region } from '@tocsin/contracts/regions/routes';
import { byUrgency, isolatedRegions, regionState, unservedRegions } from './regions.ts';

const serving: Region = {
  region: 'eu',
  workers: 2,
  waiting: 0,
  lagSeconds: 0,
  monitors: 3,
  served: true,
  health: 'unknown',
  since: null,
  canaryMonitorIds: [],
};

test.each<[string, Partial<Region>, ReturnType<typeof regionState>]>([
  ['with workers', {}, 'serving'],
  ['whose oldest check is late', { lagSeconds: 15 }, 'late'],
  ['without workers', { workers: 0, served: false }, 'unserved'],
  ['without workers or monitors', { workers: 0, served: false, monitors: 0 }, 'idle'],
  ['whose queue is unavailable', { workers: null, served: null, lagSeconds: null }, 'unknown'],
])('a region %s', (_, change, state) => {
  expect(regionState({ ...serving, ...change })).toBe(state);
});

test('byUrgency puts isolated regions first, then those that need attention', () => {
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

test('names the regions that no checker serves', () => {
  const unserved = { ...serving, served: false };
  const regions = [
    serving,
    { ...unserved, region: 'us' },
    { ...serving, region: 'ap', served: null },
    { ...unserved, region: 'sa', monitors: 0 },
  ];
  expect(unservedRegions(regions)).toEqual(['us', 'sa']);
});
