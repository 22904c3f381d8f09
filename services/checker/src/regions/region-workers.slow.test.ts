import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { createTrigger } from '@tocsin/db/triggers/triggers';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import type { QueueStore } from '@tocsin/queue/queue-store';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics } from '../metrics.ts';
import type { TargetSource } from '../targets/target-cache.ts';
import { checkContext, type CheckerDatabase, openCheckerDatabase, REGION } from '../testing/test-checker.ts';
import { type RegionWorkers, startRegionWorkers } from './region-workers.ts';

const PATIENT_MS = 120_000;

let database: CheckerDatabase;
let store: QueueStore;
let producers: Producers;
let workers: RegionWorkers | undefined;
beforeEach(async () => {
  database = await openCheckerDatabase();
  const { url } = await createTestRedis();
  store = openQueueStore(url, () => undefined);
  producers = new Producers(store, PATIENT_MS);
  await until('the store to respond', () =>
    store
      .ping()
      .then(() => true)
      .catch(() => false),
  );
});
afterEach(async () => {
  await workers?.close();
  await producers.close();
  await store.close();
  await database.close();
});

function start(load: TargetSource['load'], registry = createMetrics()): void {
  workers = startRegionWorkers({
    region: REGION,
    concurrency: 500,
    store,
    producers,
    db: database.db,
    trialChecks: { take: () => Promise.resolve(null), record: () => Promise.resolve() },
    context: checkContext(database, {
      load,
      readRevisions: async (ids) => (await load(ids), new Map()),
      record: async () => [],
      metrics: createCheckerMetrics(registry),
    }),
    logger: createSilentLogger(),
  });
}

test('a checker without checks has the series by which autoscaling recognizes its region', async () => {
  const registry = createMetrics();
  start(async () => new Map(), registry);
  const text = await registry.getSingleMetricAsString('tocsin_check_schedule_lag_seconds');
  expect(text).toContain(`tocsin_check_schedule_lag_seconds_count{region="${REGION}"} 0`);
});

test('hanging triggers do not keep further triggers from being taken', async () => {
  const row = await findMonitorRow(
    database.db,
    database.accountId,
    await database.addMonitor({ url: 'https://slow.test/' }),
  );
  const queue = producers.queue('trigger', REGION);
  for (let added = 0; added < 300; added += 1) {
    const { id } = await createTrigger(database.db, row, null, PATIENT_MS);
    await producers.addTrigger(REGION, { triggerId: id });
  }
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  start(async () => {
    await released;
    // The monitor seems to be deleted in the meantime.
    return new Map();
  });
  await until('every job to be taken', async () => (await queue.getActiveCount()) === 300);
  release();
  await until('all jobs to be done', async () => (await queue.getActiveCount()) === 0);
});
