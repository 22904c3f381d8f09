import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { type Region, regionSchema } from '@tocsin/contracts/regions/region';
import { renewIsolation } from '@tocsin/db/regions/isolations';
import type { RegionLoad } from '@tocsin/queue/queue-load';
import { createSilentLogger } from '@tocsin/runtime/logger';
import type supertest from 'supertest';
import { newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';
import { RegionLoads } from './region-loads.ts';

const REGIONS = '/api/dashboard/regions';
const UNKNOWN = 'ffffffff-ffff-4fff-bfff-ffffffffffff';
const logger = createSilentLogger();
const loads: Record<string, RegionLoad> = {
  default: { workers: 2, waiting: 3, lagMs: 4_900 },
  empty: { workers: 0, waiting: 0, lagMs: 0 },
};
const LATE = { since: Date.parse('2026-03-01T03:12:00Z'), lateMs: 21_400 };
let now = 0;
let reads: string[] = [];

function makeLoads(): RegionLoads {
  return new RegionLoads({
    logger,
    now: () => now,
    read: async (region) => {
      reads.push(region);
      const load = loads[region];
      if (load === undefined) throw new Error('the store does not respond');
      return load;
    },
  });
}

const api = await useTestApi({
  regionLoads: makeLoads(),
  lateRegions: async () => new Map([['default', LATE]]),
  settings: { regions: ['default', 'empty', 'dead'] },
});
const member = await signIn(api, { role: 'member' });
await newMonitor(api, { regions: ['empty', 'dead'] });
await newMonitor(api);

describe('regions', () => {
  test('are returned with their workers and lateness, and without figures if the queue does not respond', async () => {
    const { status, body } = await member.get(REGIONS);
    expect(status).toBe(200);
    const ofCheckers = { kind: 'checkers', name: null, shared: true, agents: [] };
    const noCanaries = {
      ...ofCheckers,
      monitors: 1,
      lateSince: null,
      health: 'unknown',
      since: null,
      canaryMonitorIds: [],
    };
    const lateSince = new Date(LATE.since).toISOString();
    const { regions } = body as { regions: unknown[] };
    expect(regions.map((region) => regionSchema.parse(region))).toEqual([
      { region: 'dead', workers: null, waiting: null, lagSeconds: null, served: null, ...noCanaries },
      { region: 'default', workers: 2, waiting: 3, served: true, ...noCanaries, lagSeconds: 21, lateSince },
      { region: 'empty', workers: 0, waiting: 0, lagSeconds: 0, served: false, ...noCanaries },
    ]);
  });

  test('are the same with a read key, and do not count monitors of another account', async () => {
    const { status, body } = await api.as(api.account.readKey).get('/api/cli/regions');
    expect([status, body]).toEqual([200, (await member.get(REGIONS)).body]);
    const otherUser = await signIn(api, { accountId: api.other.id });
    const { regions } = (await otherUser.get(REGIONS)).body as { regions: Region[] };
    expect(regions.map(({ monitors }) => monitors)).toEqual([0, 0, 0]);
  });

  test('have the canaries that a member sets, and show whether they respond', async () => {
    const [{ id }, other] = [await newMonitor(api), await newMonitor(api)];
    const set = (canaryMonitorIds: unknown): supertest.Test =>
      member.put(`${REGIONS}/default`).send({ canaryMonitorIds });
    const shown = async (): Promise<Region | undefined> => {
      const { body } = await api.as(api.account.readKey).get('/api/cli/regions');
      return (body as { regions: Region[] }).regions.find(({ region }) => region === 'default');
    };
    const canaryMonitorIds = [id, other.id];
    const { status, body } = await set([other.id, id.toUpperCase()]);
    expect([status, body]).toEqual([200, { region: await shown() }]);
    expect(await shown()).toMatchObject({ health: 'connected', since: null, canaryMonitorIds, workers: 2 });
    const isolation = { accountId: api.account.id, region: 'default', checkerId: randomUUID(), ageMs: 0 };
    await renewIsolation(api.context.db, isolation);
    expect(await shown()).toMatchObject({ health: 'isolated', since: expect.any(String), canaryMonitorIds });
    await set([]);
    expect(await shown()).toMatchObject({ health: 'unknown', canaryMonitorIds: [] });
  });

  const MANY = Array.from({ length: 11 }, () => randomUUID());
  test.each<[unknown, string, string]>([
    [null, 'canaryMonitorIds', 'must be an array of monitor ids'],
    [[UNKNOWN, UNKNOWN], 'canaryMonitorIds', 'must not contain a monitor twice'],
    [MANY, 'canaryMonitorIds', 'must contain at most 10 monitors'],
    [[UNKNOWN], 'canaryMonitorIds.0', 'is not a monitor of this account'],
  ])('refuse %j as canaries', async (canaryMonitorIds, path, message) => {
    const { status, body } = await member.put(`${REGIONS}/default`).send({ canaryMonitorIds });
    expect([status, (body as { errors: unknown }).errors]).toMatchObject([400, [{ path, message }]]);
  });

  test.each(['DEFAULT', '%00'])('are not found by the unknown code %s', async (code) => {
    expect((await member.put(`${REGIONS}/${code}`).send({ canaryMonitorIds: [] })).status).toBe(404);
  });

  test('are read once in five seconds, even if the queue does not respond', async () => {
    reads = [];
    now = 100_000;
    const shared = makeLoads();
    await Promise.all([shared.read(['default', 'dead']), shared.read(['default', 'dead'])]);
    now += 4_999;
    await shared.read(['default', 'dead']);
    expect(reads.toSorted()).toEqual(['dead', 'default']);
    now += 1;
    await shared.read(['default']);
    expect(reads).toHaveLength(3);
  });

  test('beyond a hundred are not read', async () => {
    const codes = Array.from({ length: 101 }, (_, index) => `region-${index}`);
    expect((await makeLoads().read(codes)).size).toBe(100);
  });
});
