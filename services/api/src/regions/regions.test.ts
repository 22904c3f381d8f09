import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { regionSchema } from '@tocsin/contracts/region';
import { countRegionMonitors } from '@tocsin/db/monitor-regions/count-region-monitors';
import type { RegionLoad } from '@tocsin/queue/region-load';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import type TestAgent from 'supertest/lib/agent.js';
import { newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi } from '../testing/test-api.ts';
import type { TestApi } from '../testing/test-api.ts';
import { RegionLoads } from './region-loads.ts';
import { registerRegionMetrics } from './region-metrics.ts';

const REGIONS = '/api/dashboard/regions';
const logger = createSilentLogger();
const loads: Record<string, RegionLoad> = {
  default: { workers: 2, waiting: 3, lagMs: 4_900 },
  empty: { workers: 0, waiting: 0, lagMs: 0 },
};
let now = 0;
let reads: string[] = [];

function makeLoads(): RegionLoads {
  return new RegionLoads({
    logger,
    now: () => now,
    read: async (region) => {
      reads.push(region);
      const load = loads[region];
      if (load === undefined) throw new Error('the store does not answer');
      return load;
    },
  });
}

let api: TestApi;
let member: TestAgent;
beforeAll(async () => {
  api = await openTestApi({ regionLoads: makeLoads(), settings: { regions: ['default', 'empty', 'dead'] } });
  member = await signIn(api, { role: 'member' });
  await newMonitor(api, { regions: ['empty', 'dead'] });
  await newMonitor(api);
});
afterAll(() => api.close());

describe('regions', () => {
  test('who serves what, and who is not known', async () => {
    const { status, body } = await member.get(REGIONS);
    expect(status).toBe(200);
    const { regions } = body as { regions: unknown[] };
    expect(regions.map((region) => regionSchema.parse(region))).toEqual([
      { region: 'dead', workers: null, waiting: null, lagSeconds: null, monitors: 1, served: null },
      { region: 'default', workers: 2, waiting: 3, lagSeconds: 4, monitors: 1, served: true },
      { region: 'empty', workers: 0, waiting: 0, lagSeconds: 0, monitors: 1, served: false },
    ]);
  });

  test("another account's monitors are not counted", async () => {
    const stranger = await signIn(api, { accountId: api.other.id });
    const { body } = await stranger.get(REGIONS);
    expect((body as { regions: { monitors: number }[] }).regions.map(({ monitors }) => monitors)).toEqual([
      0, 0, 0,
    ]);
  });

  test('the queue is asked once in five seconds, however many want to know, and also where it does not answer', async () => {
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

  test('of very many regions the queue is asked for a hundred', async () => {
    reads = [];
    const codes = Array.from({ length: 150 }, (_, index) => `region-${index}`);
    expect((await makeLoads().read(codes)).size).toBe(100);
    expect(reads).toHaveLength(100);
  });
});

describe('metrics of regions', () => {
  test('monitors and workers; a store that does not answer leaves its region out', async () => {
    const registry = createMetrics();
    const countMonitors = (): Promise<Map<string, number>> => countRegionMonitors(api.context.db, null);
    registerRegionMetrics({ registry, countMonitors, loads: makeLoads(), logger });
    const text = await registry.metrics();
    expect(text).toContain('tocsin_region_monitors{region="dead"} 1');
    expect(text).toContain('tocsin_region_monitors{region="default"} 1');
    expect(text).toContain('tocsin_region_workers{region="default"} 2');
    expect(text).toContain('tocsin_region_workers{region="empty"} 0');
    expect(text).not.toContain('tocsin_region_workers{region="dead"}');
  });

  test('Postgres is asked once for both, and its outage does not break the scrape', async () => {
    const registry = createMetrics();
    let asked = 0;
    const countMonitors = (): Promise<Map<string, number>> => {
      asked += 1;
      return Promise.reject(new Error('connection refused'));
    };
    registerRegionMetrics({ registry, countMonitors, loads: makeLoads(), logger });
    await registry.metrics();
    expect(await registry.metrics()).toContain('process_cpu_seconds_total');
    expect(asked).toBe(1);
  });
});
