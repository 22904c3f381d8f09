import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { waveId, waveOf } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { alignSpans } from '@tocsin/db/monitor-regions/schedule-spans';
import { listWaves } from '@tocsin/db/monitor-regions/schedules';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { until } from '@tocsin/embedded/testing/until';
import type { Producers } from '@tocsin/queue/producers';
import { RegionSchedules } from '@tocsin/queue/schedules';
import { createMetrics, type Metrics } from '@tocsin/runtime/metrics';
import { captureLog } from '@tocsin/runtime/testing/captured-log';
import {
  checkOnce,
  commitMonitor,
  commitWave,
  producersWith,
  reconcilerOptions,
  scheduledRevision,
  storedJobs,
  storedSchedules,
  storedWaves,
} from '../testing/schedules.ts';
import { useTestApi } from '../testing/test-api.ts';
import { useTestQueue } from '../testing/test-queue.ts';
import {
  AUDIT_EVERY_MS,
  EVERY_MS,
  Reconciler,
  type ReconcilerOptions,
  REGION_TIMEOUT_MS,
  TAKE_OVER_EVERY_MS,
} from './reconciler.ts';
import { createScheduleMetrics, type ScheduleMetrics } from './schedule-metrics.ts';
import { syncSchedules } from './sync-schedules.ts';

const PREFIX = 'tocsin:{checks.default}';
let registry: Metrics;
let metrics: ScheduleMetrics;
const queue = await useTestQueue();
const api = await useTestApi();
beforeEach(() => {
  registry = createMetrics();
  metrics = createScheduleMetrics(registry);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await api.database.pool.query('delete from monitors');
  await queue.redis.flushdb();
});

const reconcilerWith = (options: Partial<ReconcilerOptions> = {}): Reconciler =>
  new Reconciler({ ...reconcilerOptions(api, queue), metrics, ...options });
const run = (reconciler: Reconciler): Promise<void> => reconciler.run(new AbortController().signal);

const update = (id: string, fields: object): Promise<unknown> =>
  updateMonitor(api.context, systemActor(api.account.id), id, fields, 'default');
const remove = (id: string): Promise<unknown> =>
  deleteMonitor(api.context.db, systemActor(api.account.id), id);

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

/** A monitor that was checked once and whose wave is in the store, without a waiting first check. */
async function scheduledMonitor(
  reconciler: Reconciler,
  fields: object = {},
): Promise<{ id: string; wave: string; next: number }> {
  const { id } = await commitMonitor(api, { ...fields });
  await checkOnce(api, id);
  await run(reconciler);
  const [schedule] = await storedSchedules(queue, 'default');
  return { id, wave: schedule?.id ?? '', next: schedule?.next ?? NaN };
}

describe('a crash between commit and enqueue', () => {
  test('of a create: the monitor is scheduled and checked at once', async () => {
    const monitor = await commitMonitor(api, { interval: 86_400 });
    await run(reconcilerWith());
    const schedule = { id: waveId(waveOf(monitor.id, 86_400)), every: 86_400_000 };
    expect(await storedSchedules(queue, 'default')).toMatchObject([schedule]);
    const first = `first-${monitor.id}-${Date.parse(monitor.createdAt)}`;
    expect(await storedJobs(queue, 'default')).toContain(first);
    expect(await scheduledRevision(api, monitor.id, 'default')).toBe(1);
  });

  test('of an update: the new interval and the new regions are scheduled', async () => {
    const { id } = await commitMonitor(api, { regions: ['a', 'b'] });
    const reconciler = reconcilerWith();
    await run(reconciler);
    await update(id, { interval: 30, regions: ['b', 'c'] });
    const isApplied = async (region: string): Promise<boolean> =>
      (await scheduledRevision(api, id, region)) === 2;
    // Both regions lock the monitor to record this, so one of them may have to wait for the next run.
    await until('the update is applied in both regions', async () => {
      await run(reconciler);
      return (await isApplied('b')) && isApplied('c');
    });
    expect(await storedWaves(queue, 'a')).toEqual([]);
    for (const region of ['b', 'c'])
      expect(await storedWaves(queue, region)).toEqual([waveId(waveOf(id, 30))]);
  });

  test('of an update or a delete: the wave ends with its last monitor, and does not change before', async () => {
    const [stays = '', moves = ''] = await commitWave(api, 2);
    const reconciler = reconcilerWith();
    await run(reconciler);
    const [before] = await storedSchedules(queue, 'default');
    await update(moves, { interval: 3_600 });
    await run(reconciler);
    const after = await storedSchedules(queue, 'default');
    const wave = waveId(waveOf(moves, 3_600));
    expect(after.map(({ id }) => id)).toEqual([wave, waveId(waveOf(stays, 5))]);
    expect(after).toContainEqual(before);
    await remove(stays);
    await run(reconciler);
    expect(await storedWaves(queue)).toEqual([wave]);
    const repeated = (await storedJobs(queue, 'default')).filter((job) => job.startsWith('repeat'));
    expect(repeated).toEqual([expect.stringContaining(wave)]);
  });

  test('more schedules than fit one chunk are applied in one run', async () => {
    await insertUnscheduled('{}', 'default', 1_100);
    await run(reconcilerWith());
    const wanted = (await listWaves(api.context.db)).get('default') ?? [];
    expect(wanted.length).toBeGreaterThan(500);
    const ids = wanted.map(waveId).toSorted((one, other) => one.localeCompare(other));
    expect(await storedWaves(queue)).toEqual(ids);
    const { rowCount } = await api.database.pool.query(
      'select from monitor_regions where scheduled_revision is null',
    );
    expect(rowCount).toBe(0);
  });
});

describe('regions', () => {
  /** The queue of one region and the list of regions call `respond`. */
  const withQueueOf = (region: string, respond: () => Promise<never>): Producers => {
    const failing = { getJobScheduler: respond, backend: { getJobSchedulersRange: respond } };
    return Object.assign(
      producersWith(queue, region, () => failing),
      { listRegions: respond },
    );
  };

  test('a region whose queue is unavailable blocks no other, is logged once, and catches up', async () => {
    await insertUnscheduled('{broken}', 'broken', 1_100);
    const { id } = await commitMonitor(api, { regions: ['near'] });
    const { logger, text } = captureLog();
    const reconciler = reconcilerWith({
      producers: withQueueOf('broken', () => Promise.reject(new Error('the queue is unavailable'))),
      logger,
    });
    for (let times = 0; times < 3; times += 1) await run(reconciler);
    expect(await storedWaves(queue, 'near')).toEqual([waveId(waveOf(id, 60))]);
    expect(text().match(/Reconciling schedules fails in a region/g)).toHaveLength(1);
    expect(await registry.getSingleMetricAsString('tocsin_schedules_unapplied')).toMatch(/ [1-9]\d*$/m);
    await reconciler.settle();
  });

  test('a region whose queue hangs delays one run briefly, and the next run not at all', async () => {
    await commitMonitor(api, { regions: ['hung'] });
    let release: ((error: Error) => void) | undefined;
    const gate = new Promise<never>((_, reject) => (release = reject));
    gate.catch(() => undefined);
    let patienceMs = 10;
    const reconciler = new Reconciler({
      ...reconcilerOptions(api, queue),
      producers: withQueueOf('hung', () => gate),
      // The reconciler reads this option at each wait.
      get regionTimeoutMs() {
        return patienceMs;
      },
    });
    // The hung queue does not respond before the end of the test, so a run that waited for it would not end.
    await run(reconciler);
    const { id } = await commitMonitor(api, { regions: ['near'] });
    patienceMs = 600_000;
    await run(reconciler);
    expect(await storedWaves(queue, 'near')).toEqual([waveId(waveOf(id, 60))]);
    release?.(new Error('the queue responds at last'));
    await reconciler.settle();
  });

  test('a region that no monitor uses any more leaves nothing, also after a change of the leader', async () => {
    const ids = await Promise.all([
      commitMonitor(api, { regions: ['one', 'kept'] }),
      commitMonitor(api, { regions: ['two'] }),
    ]);
    const reconciler = reconcilerWith({ regions: ['kept'] });
    await run(reconciler);
    for (const { id } of ids) await remove(id);
    const leftRegions = async (): Promise<string[]> => (await queue.producers.listRegions()).toSorted();
    expect(await leftRegions()).toEqual(['kept', 'one', 'two']);
    const used = jest
      .spyOn(queue.producers, 'countCheckWorkers')
      .mockImplementation(async (region) => (region === 'two' ? 1 : 0));
    await run(reconciler);
    expect(await leftRegions()).toEqual(['kept', 'two']);
    expect(await storedWaves(queue, 'two')).toEqual([]);
    expect(await registry.metrics()).not.toMatch(/region="(one|two)"/);
    used.mockRestore();
    await run(reconcilerWith({ regions: ['kept'] }));
    expect(await leftRegions()).toEqual(['kept']);
    const keys = await queue.redis.keys('*');
    expect(keys.filter((key) => !key.includes('.kept}'))).toEqual([]);
  });

  test('monitors without regions move to a new default region', async () => {
    const { wave } = await scheduledMonitor(reconcilerWith());
    await run(reconcilerWith({ defaultRegion: 'eu-west-1', regions: ['eu-west-1', 'default'] }));
    expect([await storedWaves(queue), await storedWaves(queue, 'eu-west-1')]).toEqual([[], [wave]]);
  });
});

describe('an audit', () => {
  const synced = (): Promise<string> => registry.getSingleMetricAsString('tocsin_schedules_synced_total');

  test('restores a flushed store, and the next run of a wave whose delayed job is lost, with its offset', async () => {
    const reconciler = reconcilerWith();
    const { id, wave, next } = await scheduledMonitor(reconciler);
    const restored = async (): Promise<void> => {
      await run(reconciler);
      const schedules = await storedSchedules(queue, 'default');
      expect(schedules.map((each) => [each.id, (each.next ?? NaN) % 60_000])).toEqual([
        [wave, waveOf(id, 60).offsetMs],
      ]);
      expect(await storedJobs(queue, 'default')).toEqual([`repeat:${wave}:${schedules[0]?.next}`]);
    };
    await queue.redis.del(`${PREFIX}:repeat:${wave}:${next}`);
    await queue.redis.zrem(`${PREFIX}:delayed`, `repeat:${wave}:${next}`);
    await queue.redis.zadd(`${PREFIX}:repeat`, next - 120_000, wave);
    await restored();
    expect(await synced()).toContain('region="default",cause="lost",action="applied"} 1');
    await queue.redis.flushdb();
    await restored();
    expect(await synced()).toContain('region="default",cause="missing",action="applied"} 1');
  });

  test('removes stray schedulers only, also in regions without monitors', async () => {
    const reconciler = reconcilerWith({ regions: ['default', 'empty'] });
    const { wave, next } = await scheduledMonitor(reconciler);
    const before = await storedSchedules(queue, 'default');
    for (const region of ['default', 'empty'])
      await new RegionSchedules(queue.producers, region).apply([{ intervalSeconds: 61, offsetMs: 51 }]);
    for (const name of ['not-ours', 'wave-60-60000', '0198f2c4-0000-7000-8000-000000000000'])
      await queue.producers.queue('check', 'default').upsertJobScheduler(name, { every: 60_000, offset: 1 });
    await run(reconciler);
    expect(await storedSchedules(queue, 'default')).toEqual(before);
    expect(await storedWaves(queue, 'empty')).toEqual([]);
    expect(await storedJobs(queue, 'default')).toEqual([`repeat:${wave}:${next}`]);
    expect(await synced()).toContain('region="default",cause="stray",action="removed"} 4');
  });

  test.each(['before', 'after'] as const)(
    'schedules a monitor that another api creates just %s its wave is removed as stray',
    async (when) => {
      const { pool } = api.database;
      const [last = '', created = ''] = await commitWave(api, 2);
      const wave = waveId(waveOf(last, 5));
      await run(reconcilerWith());
      // The other monitor's rows are restored in the middle of the removal.
      const { rows } = await pool.query('delete from schedule_spans where monitor_id = $1 returning *', [
        created,
      ]);
      await remove(last);
      const createByOther = async (): Promise<void> => {
        await pool.query(
          'insert into schedule_spans select * from json_populate_recordset(null::schedule_spans, $1)',
          [JSON.stringify(rows)],
        );
        const stores = { db: api.context.db, producers: queue.producers };
        // Before the removal, the other api finds the wave in the store and adds nothing.
        expect(await syncSchedules(stores, 'default', [created])).toBe(when === 'before' ? 0 : 1);
      };
      const producers = producersWith(queue, 'default', (real) => ({
        removeJobScheduler: async (id: string) => {
          if (when === 'before') await createByOther();
          const removed = await real.removeJobScheduler(id);
          if (when === 'after') await createByOther();
          return removed;
        },
      }));
      await run(reconcilerWith({ producers }));
      const [schedule] = await storedSchedules(queue, 'default');
      expect(schedule?.id).toBe(wave);
      expect(await storedJobs(queue, 'default')).toContain(`repeat:${wave}:${schedule?.next}`);
    },
  );

  test('restarts a wave planned by an api with a fast clock at its offset, but not in that api', async () => {
    const reconciler = reconcilerWith();
    const right = Date.now.bind(Date);
    const plannedAt = right();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => right() + 3_600_000);
    const planned = await scheduledMonitor(reconciler, { interval: 5 });
    await run(reconciler);
    expect(await storedSchedules(queue, 'default')).toMatchObject([{ next: planned.next }]);
    clock.mockRestore();
    expect(planned.next).toBeGreaterThan(plannedAt + 3_600_000);
    await run(reconciler);
    const [schedule] = await storedSchedules(queue, 'default');
    expect(schedule?.next).toBeLessThanOrEqual(Date.now() + 5_000);
    expect((schedule?.next ?? 0) % 5_000).toBe(waveOf(planned.id, 5).offsetMs);
    // To an api with a slow clock, the run seems to be planned too far ahead.
    jest.spyOn(Date, 'now').mockImplementation(() => right() - 3_600_000);
    await run(reconciler);
    expect(await storedJobs(queue, 'default')).toEqual([`repeat:${planned.wave}:${schedule?.next}`]);
    expect(await synced()).toContain('region="default",cause="ahead",action="applied"} 1');
  });
});

test('a flushed store is restored within 15 s, however the leadership ends', () => {
  // The store is flushed right after an audit, and the leader ends right before the next one. The first run of the next leader audits.
  const untilNextAudit = AUDIT_EVERY_MS + EVERY_MS + REGION_TIMEOUT_MS;
  const untilNextLeader = TAKE_OVER_EVERY_MS;
  expect(untilNextAudit + untilNextLeader).toBeLessThanOrEqual(15_000);
});
