import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { phaseMs } from '@tocsin/core/schedule/phase';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitor';
import { updateMonitor } from '@tocsin/db/monitors/update-monitor';
import { startJobWorker } from '@tocsin/queue/job-worker';
import { Producers } from '@tocsin/queue/producers';
import { RegionSchedules } from '@tocsin/queue/schedules';
import { createLogger } from '@tocsin/runtime/logger';
import type { Logger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import type { Metrics } from '@tocsin/runtime/metrics';
import {
  checkOnce,
  commitMonitor,
  scheduledRevision,
  storedJobs,
  storedSchedules,
} from '../testing/schedules.ts';
import { openTestApi } from '../testing/test-api.ts';
import type { TestApi } from '../testing/test-api.ts';
import { openTestQueue } from '../testing/test-queue.ts';
import type { TestQueue } from '../testing/test-queue.ts';
import { until } from '../testing/until.ts';
import { Reconciler } from './reconciler.ts';
import { createScheduleMetrics } from './schedule-metrics.ts';

let api: TestApi;
let queue: TestQueue;
let log: string;
let logger: Logger;
let metrics: Metrics;
const never = new AbortController().signal;

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
  regions: readonly string[] = ['default'],
): Reconciler {
  return new Reconciler({
    db: api.context.db,
    producers,
    defaultRegion: 'default',
    regions,
    metrics: createScheduleMetrics(metrics),
    logger,
    auditEveryMs: 0,
  });
}

/** The real producers, but for one region, whose store answers everything with `answer`. */
function withStoreOf(region: string, answer: () => Promise<never>): Producers {
  const queueOf: Producers['queue'] = (kind, of) =>
    of === region ? (broken as unknown as ReturnType<Producers['queue']>) : queue.producers.queue(kind, of);
  const broken = { upsertJobScheduler: answer, backend: { getJobSchedulersRange: answer } };
  return Object.assign(new Producers(queue.stores), { queue: queueOf });
}

const ids = async (region: string): Promise<string[]> =>
  (await storedSchedules(queue, region)).map((schedule) => schedule.id);

describe('a crash between commit and enqueue', () => {
  test('of a create: scheduled, and checked at once', async () => {
    const monitor = await commitMonitor(api, { interval: 86_400 });
    await reconcilerWith().run(never);
    expect(await storedSchedules(queue, 'default')).toMatchObject([{ id: monitor.id, every: 86_400_000 }]);
    expect(await storedJobs(queue, 'default')).toContain(
      `first-${monitor.id}-${Date.parse(monitor.createdAt)}`,
    );
    expect(await scheduledRevision(api, monitor.id, 'default')).toBe(1);
  });

  test('of an update: the new interval; of a change of regions: moved', async () => {
    const { id } = await commitMonitor(api, { regions: ['a', 'b'] });
    const reconciler = reconcilerWith();
    await reconciler.run(never);
    await updateMonitor(api.context, api.account.id, id, { interval: 30, regions: ['b', 'c'] }, 'default');
    await reconciler.run(never);
    expect(await ids('a')).toEqual([]);
    for (const region of ['b', 'c']) {
      expect(await storedSchedules(queue, region)).toMatchObject([{ id, every: 30_000, revision: 2 }]);
    }
  });

  test('of a delete: removed', async () => {
    const { id } = await commitMonitor(api);
    const reconciler = reconcilerWith();
    await reconciler.run(never);
    await deleteMonitor(api.context.db, api.account.id, id);
    await reconciler.run(never);
    expect(await ids('default')).toEqual([]);
    expect((await storedJobs(queue, 'default')).filter((job) => job.startsWith('repeat'))).toEqual([]);
  });

  test('more than fits one chunk: all of them in one run', async () => {
    await api.database.pool.query(
      `insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method,
         failure_threshold, regions, status)
       select gen_random_uuid(), $1, 'n', 'http://a.example', 'HTTP', 60, 10, 'GET', 1, '{}', 'UP'
       from generate_series(1, 2300)`,
      [api.account.id],
    );
    await api.database.pool.query(
      `insert into monitor_regions (monitor_id, region) select id, 'default' from monitors`,
    );
    await reconcilerWith().run(never);
    expect(await ids('default')).toHaveLength(2_300);
    const { rows } = await api.database.pool.query(
      'select count(*)::int as open from monitor_regions where scheduled_revision is null',
    );
    expect(rows).toEqual([{ open: 0 }]);
  });
});

describe('what happens to the store', () => {
  test('FLUSHALL: everything is back with its phase, and no slot fires twice', async () => {
    const fired: string[] = [];
    const monitors = await Promise.all(Array.from({ length: 20 }, () => commitMonitor(api)));
    for (const { id } of monitors) await checkOnce(api, id);
    await api.database.pool.query('update monitors set interval_seconds = 1');
    const reconciler = reconcilerWith();
    await reconciler.run(never);
    const worker = startJobWorker(queue.stores.main, {
      kind: 'check',
      region: 'default',
      concurrency: 10,
      process: (_payload, jobId) => Promise.resolve(void fired.push(jobId)),
      onFailed: () => undefined,
    });
    const firedOfAll = (): boolean => monitors.every(({ id }) => fired.some((job) => job.includes(id)));
    await until(firedOfAll);
    await queue.redis.flushdb();
    const before = fired.splice(0);
    await reconciler.run(never);
    expect(await ids('default')).toHaveLength(20);
    await until(firedOfAll);
    await worker.close();
    const jobs = [...before, ...fired];
    expect(new Set(jobs).size).toBe(jobs.length);
    for (const job of jobs) {
      const [, id = '', slot] = job.split(':');
      expect(Number(slot) % 1_000).toBe(phaseMs(id, 1_000));
    }
  });

  test('a lost delayed job: its chain goes on, with its phase', async () => {
    const { id } = await commitMonitor(api);
    await checkOnce(api, id);
    const reconciler = reconcilerWith();
    await reconciler.run(never);
    const [schedule] = await storedSchedules(queue, 'default');
    const prefix = 'tocsin:{checks.default}';
    const overdue = (schedule?.next ?? 0) - 60_000 - 60_000;
    await queue.redis.del(`${prefix}:repeat:${id}:${schedule?.next}`);
    await queue.redis.zrem(`${prefix}:delayed`, `repeat:${id}:${schedule?.next}`);
    await queue.redis.zadd(`${prefix}:repeat`, overdue, id);
    expect(await storedJobs(queue, 'default')).toEqual([]);
    await reconciler.run(never);
    const [revived] = await storedSchedules(queue, 'default');
    expect(revived?.next).toBeGreaterThan(Date.now());
    expect((revived?.next ?? 0) % 60_000).toBe(phaseMs(id, 60_000));
    expect(await storedJobs(queue, 'default')).toEqual([`repeat:${id}:${revived?.next}`]);
    expect(await metrics.getSingleMetricAsString('tocsin_schedules_synced_total')).toContain(
      'region="default",cause="lost",action="applied"} 1',
    );
  });

  test('a delayed job whose place in the queue alone is lost', async () => {
    const { id } = await commitMonitor(api);
    await checkOnce(api, id);
    const reconciler = reconcilerWith();
    await reconciler.run(never);
    const [schedule] = await storedSchedules(queue, 'default');
    const prefix = 'tocsin:{checks.default}';
    const overdue = (schedule?.next ?? 0) - 120_000;
    await queue.redis.rename(`${prefix}:repeat:${id}:${schedule?.next}`, `${prefix}:repeat:${id}:${overdue}`);
    await queue.redis.zrem(`${prefix}:delayed`, `repeat:${id}:${schedule?.next}`);
    await queue.redis.zadd(`${prefix}:repeat`, overdue, id);
    await reconciler.run(never);
    const [revived] = await storedSchedules(queue, 'default');
    expect(await storedJobs(queue, 'default')).toEqual([`repeat:${id}:${revived?.next}`]);
    expect(revived?.next).toBeGreaterThan(Date.now());
  });

  test('stray schedules are removed, in regions without any monitor too, and nothing else is', async () => {
    const { id } = await commitMonitor(api);
    const reconciler = reconcilerWith(queue.producers, ['default', 'empty']);
    await reconciler.run(never);
    for (const region of ['default', 'empty']) {
      const schedules = new RegionSchedules(queue.producers, region);
      await schedules.apply([{ monitorId: randomUUID(), revision: 1, intervalSeconds: 60 }]);
    }
    await queue.producers.queue('check', 'default').upsertJobScheduler('not-ours', { every: 60_000 });
    await reconciler.run(never);
    expect([await ids('default'), await ids('empty')]).toEqual([[id], []]);
  });

  test('a backlog that no worker takes is not mistaken for lost jobs', async () => {
    const { id } = await commitMonitor(api);
    await checkOnce(api, id);
    await api.database.pool.query('update monitors set interval_seconds = 1');
    const reconciler = reconcilerWith();
    await reconciler.run(never);
    const [before] = await storedSchedules(queue, 'default');
    await until(() => Date.now() > (before?.next ?? 0) + 3_200);
    await reconciler.run(never);
    expect(await storedSchedules(queue, 'default')).toEqual([before]);
    expect(log).not.toContain('Repaired');
  });
});

describe('regions', () => {
  test('one whose store is away holds no other, is logged once, and is caught up with', async () => {
    await api.database.pool.query(
      `insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method,
         failure_threshold, regions, status)
       select gen_random_uuid(), $1, 'n', 'http://a.example', 'HTTP', 60, 10, 'GET', 1, '{away}', 'UP'
       from generate_series(1, 1500)`,
      [api.account.id],
    );
    await api.database.pool.query(
      `insert into monitor_regions (monitor_id, region) select id, 'away' from monitors`,
    );
    const { id } = await commitMonitor(api, { regions: ['near'] });
    const reconciler = reconcilerWith(
      withStoreOf('away', () => Promise.reject(new Error('the store is away'))),
    );
    for (let run = 0; run < 3; run += 1) await reconciler.run(never);
    expect(await ids('near')).toEqual([id]);
    expect(log.match(/Reconciling schedules fails in a region/g)).toHaveLength(1);
    expect(await metrics.getSingleMetricAsString('tocsin_schedules_unapplied')).toMatch(/ [1-9]\d*$/m);
    await reconciler.settle();
  });

  test('one whose store hangs is waited for briefly, and not at all by the next run', async () => {
    await commitMonitor(api, { regions: ['hung'] });
    let release: ((error: Error) => void) | undefined;
    const gate = new Promise<never>((_, reject) => (release = reject));
    gate.catch(() => undefined);
    const reconciler = reconcilerWith(withStoreOf('hung', () => gate));
    let startedAt = Date.now();
    await reconciler.run(never);
    expect(Date.now() - startedAt).toBeLessThan(4_000);
    const { id } = await commitMonitor(api, { regions: ['near'] });
    startedAt = Date.now();
    await reconciler.run(never);
    expect(Date.now() - startedAt).toBeLessThan(1_000);
    expect(await ids('near')).toEqual([id]);
    release?.(new Error('the store answers at last'));
    await reconciler.settle();
  });

  test('a new default region: monitors without regions move there', async () => {
    const { id } = await commitMonitor(api);
    await reconcilerWith().run(never);
    const moved = new Reconciler({
      db: api.context.db,
      producers: queue.producers,
      defaultRegion: 'eu-west-1',
      regions: ['eu-west-1', 'default'],
      metrics: createScheduleMetrics(createMetrics()),
      logger,
    });
    await moved.run(never);
    expect([await ids('default'), await ids('eu-west-1')]).toEqual([[], [id]]);
  });
});
