import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { waveId, waveOf } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { alignSpans } from '@tocsin/db/monitor-regions/schedule-spans';
import { listWaves } from '@tocsin/db/monitor-regions/schedules';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { Producers } from '@tocsin/queue/producers';
import { createLogger, type Logger } from '@tocsin/runtime/logger';
import { createMetrics, type Metrics } from '@tocsin/runtime/metrics';
import {
  commitMonitor,
  commitWave,
  scheduledRevision,
  storedJobs,
  storedSchedules,
} from '../testing/schedules.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { ENQUEUE_WITHIN_MS, openTestQueue, type TestQueue } from '../testing/test-queue.ts';
import { Reconciler } from './reconciler.ts';
import { createScheduleMetrics } from './schedule-metrics.ts';

let api: TestApi;
let queue: TestQueue;
let log: string;
let logger: Logger;
let metrics: Metrics;
const never = new AbortController().signal;
/** Longer than any test takes. */
const LONG_MS = 600_000;

beforeAll(async () => {
  queue = await openTestQueue();
  api = await openTestApi();
});
afterAll(async () => {
  await queue.close();
  await api.close();
});
beforeEach(() => {
  log = '';
  const stream = new PassThrough().setEncoding('utf8').on('data', (text: string) => (log += text));
  logger = createLogger({ service: 'test', format: 'json', stream });
  metrics = createMetrics();
});
afterEach(async () => {
  await api.database.pool.query('delete from monitors');
  await queue.redis.flushdb();
});

function reconcilerWith(
  producers: Producers = queue.producers,
  patience: { readonly ms: number } = { ms: LONG_MS },
): Reconciler {
  return new Reconciler({
    db: api.context.db,
    producers,
    defaultRegion: 'default',
    regions: ['default'],
    metrics: createScheduleMetrics(metrics),
    logger,
    auditEveryMs: 0,
    // The reconciler reads this option at each wait, so a test can change it.
    get regionTimeoutMs() {
      return patience.ms;
    },
  });
}

/** The real producers, except that the store of one region responds to every request with `respond`. */
function withStoreOf(region: string, respond: () => Promise<never>): Producers {
  const queueOf: Producers['queue'] = (kind, of) =>
    of === region ? (broken as unknown as ReturnType<Producers['queue']>) : queue.producers.queue(kind, of);
  const broken = { getJobScheduler: respond, backend: { getJobSchedulersRange: respond } };
  return Object.assign(new Producers(queue.stores, ENQUEUE_WITHIN_MS), { queue: queueOf });
}

const ids = async (region: string): Promise<string[]> =>
  (await storedSchedules(queue, region)).map((schedule) => schedule.id);

/** Monitors that are only in Postgres. */
async function insertUnscheduled(regions: string, region: string, count: number): Promise<void> {
  const { pool } = api.database;
  await pool.query(
    `insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method,
       failure_threshold, regions, status)
     select gen_random_uuid(), $1, 'n', 'http://a.example', 'HTTP', 60, 10, 'GET', 1, $2, 'UP'
     from generate_series(1, $3)`,
    [api.account.id, regions, count],
  );
  await pool.query('insert into monitor_regions (monitor_id, region) select id, $1 from monitors', [region]);
  await alignSpans(api.context.db);
}

describe('a crash between commit and enqueue', () => {
  test('of a create: the monitor is scheduled and checked at once', async () => {
    const monitor = await commitMonitor(api, { interval: 86_400 });
    await reconcilerWith().run(never);
    expect(await storedSchedules(queue, 'default')).toMatchObject([
      { id: waveId(waveOf(monitor.id, 86_400)), every: 86_400_000 },
    ]);
    expect(await storedJobs(queue, 'default')).toContain(
      `first-${monitor.id}-${Date.parse(monitor.createdAt)}`,
    );
    expect(await scheduledRevision(api, monitor.id, 'default')).toBe(1);
  });

  test('of an update: the new interval and the new regions are scheduled', async () => {
    const { id } = await commitMonitor(api, { regions: ['a', 'b'] });
    const reconciler = reconcilerWith();
    await reconciler.run(never);
    await updateMonitor(
      api.context,
      systemActor(api.account.id),
      id,
      { interval: 30, regions: ['b', 'c'] },
      'default',
    );
    await reconciler.run(never);
    expect(await ids('a')).toEqual([]);
    for (const region of ['b', 'c']) {
      expect(await ids(region)).toEqual([waveId(waveOf(id, 30))]);
      expect(await scheduledRevision(api, id, region)).toBe(2);
    }
  });

  test('of a delete: the wave ends with its last monitor', async () => {
    const [one = '', other = ''] = await commitWave(api, 2);
    const wave = waveId(waveOf(one, 5));
    const reconciler = reconcilerWith();
    await reconciler.run(never);
    await deleteMonitor(api.context.db, systemActor(api.account.id), one);
    await reconciler.run(never);
    expect(await ids('default')).toEqual([wave]);
    await deleteMonitor(api.context.db, systemActor(api.account.id), other);
    await reconciler.run(never);
    expect(await ids('default')).toEqual([]);
    expect((await storedJobs(queue, 'default')).filter((job) => job.startsWith('repeat'))).toEqual([]);
  });

  test('more schedules than fit one chunk are applied in one run', async () => {
    await insertUnscheduled('{}', 'default', 1_100);
    await reconcilerWith().run(never);
    const wanted = (await listWaves(api.context.db)).get('default') ?? [];
    expect(wanted.length).toBeGreaterThan(500);
    expect(await ids('default')).toEqual(
      wanted.map(waveId).toSorted((one, other) => one.localeCompare(other)),
    );
    const { rows } = await api.database.pool.query(
      'select count(*)::int as open from monitor_regions where scheduled_revision is null',
    );
    expect(rows).toEqual([{ open: 0 }]);
  });
});

describe('regions', () => {
  test('a region whose store is unavailable blocks no other, is logged once, and catches up', async () => {
    await insertUnscheduled('{broken}', 'broken', 1_100);
    const { id } = await commitMonitor(api, { regions: ['near'] });
    const reconciler = reconcilerWith(
      withStoreOf('broken', () => Promise.reject(new Error('the store is unavailable'))),
    );
    for (let run = 0; run < 3; run += 1) await reconciler.run(never);
    expect(await ids('near')).toEqual([waveId(waveOf(id, 60))]);
    expect(log.match(/Reconciling schedules fails in a region/g)).toHaveLength(1);
    expect(await metrics.getSingleMetricAsString('tocsin_schedules_unapplied')).toMatch(/ [1-9]\d*$/m);
    await reconciler.settle();
  });

  test('a region whose store hangs delays one run briefly, and the next run not at all', async () => {
    await commitMonitor(api, { regions: ['hung'] });
    let release: ((error: Error) => void) | undefined;
    const gate = new Promise<never>((_, reject) => (release = reject));
    gate.catch(() => undefined);
    const patience = { ms: 10 };
    const reconciler = reconcilerWith(
      withStoreOf('hung', () => gate),
      patience,
    );
    // The hung store does not respond before the end of the test: a run that waited for it would not end.
    await reconciler.run(never);
    const { id } = await commitMonitor(api, { regions: ['near'] });
    patience.ms = LONG_MS;
    await reconciler.run(never);
    expect(await ids('near')).toEqual([waveId(waveOf(id, 60))]);
    release?.(new Error('the store responds at last'));
    await reconciler.settle();
  });

  test('monitors without regions move to a new default region', async () => {
    const { id } = await commitMonitor(api);
    await reconcilerWith().run(never);
    const moved = new Reconciler({
      db: api.context.db,
      producers: queue.producers,
      defaultRegion: 'eu-west-1',
      regions: ['eu-west-1', 'default'],
      metrics: createScheduleMetrics(createMetrics()),
      logger,
      regionTimeoutMs: LONG_MS,
    });
    await moved.run(never);
    expect([await ids('default'), await ids('eu-west-1')]).toEqual([[], [waveId(waveOf(id, 60))]]);
  });
});
