import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { watchRegions } from '@tocsin/db/monitor-regions/read-regions';
import { setCanaries, watchRegionNetworks } from '@tocsin/db/regions/canaries';
import { endIsolation, renewIsolation } from '@tocsin/db/regions/isolations';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { Producers } from '@tocsin/queue/producers';
import { readQueueDepth, readRegionLoad } from '@tocsin/queue/queue-load';
import { openQueueStores, type QueueStores } from '@tocsin/queue/queue-stores';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { ENQUEUE_WITHIN_MS } from '../testing/test-queue.ts';
import { RegionLoads } from './region-loads.ts';
import { type RegionMetricsOptions, registerRegionMetrics } from './region-metrics.ts';

const logger = createSilentLogger();
/** No server listens on this port. */
const DEAD_STORE = 'redis://127.0.0.1:1';

let api: TestApi;
let stores: QueueStores;
let producers: Producers;
beforeAll(async () => {
  api = await openTestApi();
  stores = openQueueStores((await createTestRedis()).url, new Map([['dead', DEAD_STORE]]), () => undefined);
  producers = new Producers(stores, ENQUEUE_WITHIN_MS);
  await until('the store responds', () =>
    stores.main.ping().then(
      () => true,
      () => false,
    ),
  );
});
afterAll(async () => {
  await producers.close();
  await stores.close();
  await api.close();
});
beforeEach(() => api.database.pool.query('delete from monitors'));

/** The samples of one scrape of a process that has just started, without those of the process itself. */
async function scrape(override: Partial<RegionMetricsOptions> = {}): Promise<string[]> {
  const registry = createMetrics();
  registerRegionMetrics({
    registry,
    watchRegions: (limit) => watchRegions(api.context.db, limit),
    watchNetworks: (limit) => watchRegionNetworks(api.context.db, limit),
    loads: new RegionLoads({ read: (region) => readRegionLoad(producers, region), logger }),
    readDepth: (kind, region) => readQueueDepth(producers, kind, region),
    logger,
    ...override,
  });
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('tocsin_'));
}

/**
 * Scrapes, each time as a process that has just started, until all of these samples are there: a reading that takes too long on a slow
 * machine is left out of a scrape.
 * @param before done before each scrape
 */
async function scrapeShowing(
  wanted: readonly string[],
  before: () => Promise<unknown> = () => Promise.resolve(),
  override: Partial<RegionMetricsOptions> = {},
): Promise<string[]> {
  return until(`a scrape shows ${wanted.join(', ')}`, async () => {
    await before();
    const samples = await scrape(override);
    return wanted.every((sample) => samples.includes(sample)) && samples;
  });
}

function resultAgo(monitorId: string, seconds: number, region = 'default'): Promise<unknown> {
  return api.database.pool.query(
    `update monitor_regions set last_result_at = now() - make_interval(secs => $1)
    where monitor_id = $2 and region = $3`,
    [seconds, monitorId, region],
  );
}

describe('overdue checks', () => {
  test('are those whose last result is older than interval, timeout and 15 s', async () => {
    const monitors = await Promise.all([0, 1, 2].map(() => newMonitor(api, { interval: 60, timeout: 10 })));
    const ages = [20, 80, 90];
    await scrapeShowing(['tocsin_checks_overdue{region="default"} 1'], () =>
      Promise.all(monitors.map(({ id }, index) => resultAgo(id, ages[index] ?? 0))),
    );
  });

  test('include monitors that were never checked because no worker serves the region', async () => {
    const { id } = await newMonitor(api, { interval: 60, timeout: 10, regions: ['empty', 'default'] });
    await newMonitor(api, { interval: 3_600, regions: ['empty'] });
    const recently = (): Promise<unknown> => resultAgo(id, 5);
    await scrapeShowing(['tocsin_checks_overdue{region="empty"} 0'], recently);
    await api.database.pool.query(
      `update monitor_regions set since = now() - interval '90 seconds' where region = 'empty'`,
    );
    const overdue = [
      'tocsin_checks_overdue{region="empty"} 1',
      'tocsin_checks_overdue{region="default"} 0',
      'tocsin_region_monitors{region="empty"} 2',
    ];
    await scrapeShowing(overdue, recently);
  });
});

test('a region with canaries is isolated if it is for any account', async () => {
  const { db } = api.context;
  for (const accountId of [api.account.id, api.other.id]) {
    const { id } = await newMonitor(api, { regions: ['eu', 'us', 'ap'] });
    await api.database.pool.query('update monitors set account_id = $1 where id = $2', [accountId, id]);
    for (const region of ['eu', 'us']) await setCanaries(db, systemActor(accountId), region, [id]);
  }
  const isolated = async (): Promise<string[]> =>
    (await scrapeShowing(['tocsin_region_isolated{region="us"} 0'])).filter((line) =>
      line.includes('isolated'),
    );
  expect(await isolated()).toEqual([
    'tocsin_region_isolated{region="eu"} 0',
    'tocsin_region_isolated{region="us"} 0',
  ]);
  const isolation = { accountId: api.other.id, region: 'eu', checkerId: randomUUID(), ageMs: 0 };
  await renewIsolation(db, isolation);
  await renewIsolation(db, { ...isolation, region: 'ap' });
  await scrapeShowing(
    ['tocsin_region_isolated{region="eu"} 1', 'tocsin_region_isolated{region="us"} 0'],
    () => renewIsolation(db, isolation),
  );
  await endIsolation(db, isolation);
  expect(await isolated()).toEqual([
    'tocsin_region_isolated{region="eu"} 0',
    'tocsin_region_isolated{region="us"} 0',
  ]);
});

test('jobs are counted by queue, region and state, with the lag of the oldest check', async () => {
  const { id } = await newMonitor(api);
  await producers.addFirstCheck('default', { monitorId: id, revision: 1 }, Date.now() - 60_000);
  await producers.addDeliveries([id]);
  const samples = await scrapeShowing([
    'tocsin_queue_jobs{queue="checks",region="default",state="waiting"} 1',
    'tocsin_queue_jobs{queue="triggers",region="default",state="waiting"} 0',
    'tocsin_queue_jobs{queue="deliveries",region="",state="waiting"} 1',
    'tocsin_queue_jobs{queue="status-changes",region="",state="active"} 0',
    'tocsin_region_workers{region="default"} 0',
  ]);
  const lag = samples.find((line) => line.startsWith('tocsin_region_lag_seconds{region="default"}'));
  expect(Number(lag?.split(' ')[1])).toBeGreaterThanOrEqual(60);
});

describe('an unavailable store', () => {
  test('omits only its own values: a region’s own Redis', async () => {
    await newMonitor(api, { regions: ['dead', 'default'] });
    const samples = await scrapeShowing([
      'tocsin_region_monitors{region="dead"} 1',
      'tocsin_queue_jobs{queue="checks",region="default",state="active"} 0',
    ]);
    expect(samples.filter((line) => /^tocsin_(region_workers|queue_jobs).*"dead"/.test(line))).toEqual([]);
  });

  test.each<[string, () => Promise<never>]>([
    ['Postgres refuses', () => Promise.reject(new Error('connection refused'))],
    ['Postgres hangs', () => new Promise(() => undefined)],
  ])('%s: the scrape still returns the other values', async (_, watch) => {
    let asked = 0;
    const samples = await scrapeShowing(
      ['tocsin_queue_jobs{queue="deliveries",region="",state="active"} 0'],
      async () => void (asked = 0),
      {
        watchRegions: () => {
          asked += 1;
          return watch();
        },
      },
    );
    expect(asked).toBe(1);
    expect(samples.filter((line) => line.startsWith('tocsin_region'))).toEqual([]);
  });
});
