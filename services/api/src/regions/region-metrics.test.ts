import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { watchRegions } from '@tocsin/db/monitor-regions/read-regions';
import { setCanaries, watchRegionNetworks } from '@tocsin/db/regions/canaries';
import { endIsolation, renewIsolation } from '@tocsin/db/regions/isolations';
import type { LateRegions } from '@tocsin/db/regions/late-regions';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { startLateReading } from './late-reading.ts';
import { RegionLoads } from './region-loads.ts';
import { type RegionMetricsOptions, registerRegionMetrics } from './region-metrics.ts';

describe('values from Postgres', () => {
  const LIMIT = 100;
  let api: TestApi;
  beforeAll(async () => {
    api = await openTestApi();
  });
  afterAll(() => api.close());
  beforeEach(() => api.database.pool.query('delete from monitors'));

  async function assign(monitorId: string, secondsAgo: number, lastResultSecondsAgo: number | null) {
    await api.database.pool.query(
      `update monitor_regions set since = now() - make_interval(secs => $2),
         last_checked_at = now() - make_interval(secs => $3) where monitor_id = $1`,
      [monitorId, secondsAgo, lastResultSecondsAgo],
    );
  }

  test('a check is overdue if the last result, or without any the assignment, is older than interval, timeout and 15 s', async () => {
    for (const [region, since, lastResult] of [
      ['default', 10_000, 3_600],
      ['default', 10_000, 3_630],
      ['empty', 3_600, null],
      ['empty', 3_630, null],
    ] as const) {
      const { id } = await newMonitor(api, { interval: 3_600, timeout: 10, regions: [region] });
      await assign(id, since, lastResult);
    }
    const halfOverdue = { monitors: 2, overdue: 1 };
    expect(await watchRegions(api.context.db, LIMIT)).toEqual(
      new Map(Object.entries({ default: halfOverdue, empty: halfOverdue })),
    );
  });

  test('a region with canaries is isolated if it is for any account', async () => {
    const { db } = api.context;
    for (const accountId of [api.account.id, api.other.id]) {
      const { id } = await newMonitor(api, { regions: ['eu', 'us', 'ap'] });
      await api.database.pool.query('update monitors set account_id = $1 where id = $2', [accountId, id]);
      for (const region of ['eu', 'us']) await setCanaries(db, systemActor(accountId), region, [id]);
    }
    const connected = new Map(Object.entries({ eu: false, us: false }));
    expect(await watchRegionNetworks(db, LIMIT)).toEqual(connected);
    const isolation = { accountId: api.other.id, region: 'eu', checkerId: randomUUID(), ageMs: 0 };
    await renewIsolation(db, isolation);
    // Without canaries, it does not count.
    await renewIsolation(db, { ...isolation, region: 'ap' });
    expect(await watchRegionNetworks(db, LIMIT)).toEqual(new Map(Object.entries({ eu: true, us: false })));
    await endIsolation(db, isolation);
    expect(await watchRegionNetworks(db, LIMIT)).toEqual(connected);
  });
});

describe('a scrape', () => {
  const logger = createSilentLogger();
  const refuse = (): Promise<never> => Promise.reject(new Error('connection refused'));

  /** @returns its samples, without those of the process itself */
  async function scrape(override: Partial<RegionMetricsOptions> = {}): Promise<string[]> {
    const registry = createMetrics();
    const read = async (region: string) =>
      region === 'dead' ? refuse() : { workers: 2, waiting: 1, lagMs: 60_500 };
    registerRegionMetrics({
      registry,
      watchRegions: async () =>
        new Map([
          ['default', { monitors: 3, overdue: 1 }],
          ['dead', { monitors: 1, overdue: 0 }],
        ]),
      watchNetworks: async () => new Map(Object.entries({ default: true, eu: false })),
      loads: new RegionLoads({ read, logger }),
      lateRegions: async () => new Map([['default', { since: 0, lateMs: 70_500 }]]),
      readDepth: async (kind, region) =>
        region === 'dead'
          ? refuse()
          : { waiting: kind === 'check' ? 7 : 0, active: kind === 'delivery' ? 5 : 0 },
      logger,
      ...override,
    });
    return (await registry.metrics()).split('\n').filter((line) => line.startsWith('tocsin_'));
  }

  const mainQueues = ['status-changes', 'deliveries'].flatMap((queue) => [
    `tocsin_queue_jobs{queue="${queue}",region="",state="waiting"} 0`,
    `tocsin_queue_jobs{queue="${queue}",region="",state="active"} ${queue === 'deliveries' ? 5 : 0}`,
  ]);
  const late = 'tocsin_region_late_seconds{region="default"} 70.5';
  const networks = ['tocsin_region_isolated{region="default"} 1', 'tocsin_region_isolated{region="eu"} 0'];

  test('exports each region and each queue, without the values of an unavailable store', async () => {
    expect(await scrape()).toEqual([
      'tocsin_region_monitors{region="default"} 3',
      'tocsin_region_monitors{region="dead"} 1',
      'tocsin_checks_overdue{region="default"} 1',
      'tocsin_checks_overdue{region="dead"} 0',
      'tocsin_region_workers{region="default"} 2',
      'tocsin_region_lag_seconds{region="default"} 70.5',
      late,
      'tocsin_region_late_seconds{region="dead"} 0',
      ...networks,
      ...mainQueues,
      'tocsin_queue_jobs{queue="checks",region="default",state="waiting"} 7',
      'tocsin_queue_jobs{queue="checks",region="default",state="active"} 0',
      'tocsin_queue_jobs{queue="triggers",region="default",state="waiting"} 0',
      'tocsin_queue_jobs{queue="triggers",region="default",state="active"} 0',
    ]);
  });

  test.each<[string, () => Promise<never>]>([
    ['refuses', refuse],
    ['hangs', () => new Promise(() => undefined)],
  ])('while Postgres %s, still has the other values, and asks once', async (_what, respond) => {
    const watch = jest.fn(respond);
    jest.useFakeTimers();
    try {
      const scraped = scrape({ watchRegions: watch });
      await jest.advanceTimersByTimeAsync(2_000);
      expect(await scraped).toEqual([late, ...networks, ...mainQueues]);
    } finally {
      jest.useRealTimers();
    }
    expect(watch).toHaveBeenCalledTimes(1);
  });
});

test('late regions are unknown at first, and after a pause until checkers could record results that waited for Postgres', async () => {
  const late = new Map([['default', { since: 0, lateMs: 70_500 }]]);
  const read = jest.fn(async (): Promise<LateRegions> => late);
  jest.useFakeTimers();
  const { latest, stop } = startLateReading(read, createSilentLogger());
  const askAfter = async (ms: number) => {
    await jest.advanceTimersByTimeAsync(ms);
    return latest();
  };
  try {
    expect([await askAfter(9_000), await askAfter(2_000)]).toEqual([null, late]);
    read.mockRejectedValueOnce(new Error('connection refused'));
    expect([await askAfter(10_000), await askAfter(4_000)]).toEqual([null, late]);
    // A hanging Postgres responds when it goes on.
    read.mockImplementationOnce(() => new Promise((resolve) => setTimeout(() => resolve(late), 8_000)));
    expect([await askAfter(8_000), await askAfter(10_000), await askAfter(4_000)]).toEqual([
      null,
      null,
      late,
    ]);
  } finally {
    await stop();
    jest.useRealTimers();
  }
});
