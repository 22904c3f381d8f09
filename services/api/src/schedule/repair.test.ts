import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { waveId, waveOf } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { alignSpans } from '@tocsin/db/monitor-regions/schedule-spans';
import { listWaveMembers } from '@tocsin/db/monitor-regions/schedules';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { until } from '@tocsin/embedded/testing/until';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import { Producers } from '@tocsin/queue/producers';
import { RegionSchedules } from '@tocsin/queue/schedules';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics, type Metrics } from '@tocsin/runtime/metrics';
import { checkOnce, commitMonitor, commitWave, storedJobs, storedSchedules } from '../testing/schedules.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { ENQUEUE_WITHIN_MS, openTestQueue, type TestQueue } from '../testing/test-queue.ts';
import { Reconciler } from './reconciler.ts';
import { createScheduleMetrics } from './schedule-metrics.ts';
import { syncSchedules } from './sync-schedules.ts';

const PREFIX = 'tocsin:{checks.default}';
const never = new AbortController().signal;
let api: TestApi;
let queue: TestQueue;
let metrics: Metrics;

beforeAll(async () => {
  queue = await openTestQueue();
  api = await openTestApi();
});
afterAll(async () => {
  await queue.close();
  await api.close();
});
beforeEach(() => {
  metrics = createMetrics();
});
afterEach(async () => {
  await api.database.pool.query('delete from monitors');
  await queue.redis.flushdb();
});

function reconcilerWith(producers: Producers = queue.producers, regions = ['default']): Reconciler {
  return new Reconciler({
    db: api.context.db,
    producers,
    defaultRegion: 'default',
    regions,
    metrics: createScheduleMetrics(metrics),
    logger: createSilentLogger(),
    auditEveryMs: 0,
    // Each run is awaited, however slow the machine.
    regionTimeoutMs: 600_000,
  });
}

/** The real producers, which run `happens` just before or just after a scheduler is removed. */
function producersAround(when: 'before' | 'after', happens: () => Promise<unknown>): Producers {
  const real = queue.producers.queue('check', 'default');
  const slow = Object.assign(Object.create(real) as typeof real, {
    removeJobScheduler: async (id: string) => {
      if (when === 'before') await happens();
      const removed = await real.removeJobScheduler(id);
      if (when === 'after') await happens();
      return removed;
    },
  });
  return Object.assign(new Producers(queue.stores, ENQUEUE_WITHIN_MS), { queue: () => slow });
}

const ids = async (region = 'default'): Promise<string[]> =>
  (await storedSchedules(queue, region)).map((schedule) => schedule.id);

const synced = (): Promise<string> => metrics.getSingleMetricAsString('tocsin_schedules_synced_total');

/** A monitor that was checked once and whose wave is in the store, without a waiting first check. */
async function scheduledMonitor(reconciler: Reconciler): Promise<{ id: string; wave: string }> {
  const { id } = await commitMonitor(api);
  await checkOnce(api, id);
  await reconciler.run(never);
  return { id, wave: waveId(waveOf(id, 60)) };
}

interface Seen {
  readonly monitorId: string;
  readonly jobId: string;
}

/** A checker that probes nothing: it records the monitors of each job. */
function startNoting(seen: Seen[]): JobWorker {
  return startJobWorker(queue.stores.main, {
    kind: 'check',
    region: 'default',
    concurrency: 10,
    process: async (payload, jobId) => {
      const single = 'monitorId' in payload;
      const members = single
        ? [payload]
        : (await listWaveMembers(api.context.db, 'default', [payload])).flat();
      seen.push(...members.map(({ monitorId }) => ({ monitorId, jobId })));
    },
    onFailed: () => undefined,
  });
}

async function checkEverySecond(): Promise<void> {
  await api.database.pool.query('update monitors set interval_seconds = 1');
  await alignSpans(api.context.db);
}

test('FLUSHALL: every schedule is restored with its phase, and no slot of a monitor fires twice', async () => {
  const seen: Seen[] = [];
  const monitors = await Promise.all(Array.from({ length: 20 }, () => commitMonitor(api)));
  for (const { id } of monitors) await checkOnce(api, id);
  await checkEverySecond();
  const reconciler = reconcilerWith();
  await reconciler.run(never);
  const worker = startNoting(seen);
  const allSeen = (): boolean => monitors.every(({ id }) => seen.some(({ monitorId }) => monitorId === id));
  await until('every monitor is checked', allSeen);
  const before = await ids();
  await queue.redis.flushdb();
  const old = seen.splice(0);
  await reconciler.run(never);
  expect(await ids()).toEqual(before);
  await until('every monitor is checked again', allSeen);
  await worker.close();
  const slots = [...old, ...seen].map(({ monitorId, jobId }) => `${monitorId} ${jobId}`);
  expect(new Set(slots).size).toBe(slots.length);
  for (const { monitorId, jobId } of [...old, ...seen]) {
    const wave = waveOf(monitorId, 1);
    expect(jobId.startsWith(`repeat:${waveId(wave)}:`)).toBe(true);
    expect(Number(jobId.split(':').at(-1)) % 1_000).toBe(wave.phaseMs);
  }
});

test('deleting one of two monitors of a wave does not affect the checks of the other', async () => {
  const seen: Seen[] = [];
  const [one = '', other = ''] = await commitWave(api, 2);
  for (const id of [one, other]) await checkOnce(api, id);
  const reconciler = reconcilerWith();
  await reconciler.run(never);
  const [before] = await storedSchedules(queue, 'default');
  await deleteMonitor(api.context.db, systemActor(api.account.id), one);
  await reconciler.run(never);
  expect(await storedSchedules(queue, 'default')).toEqual([before]);
  const worker = startNoting(seen);
  await until('a job runs', () => seen.length > 0);
  await worker.close();
  expect(seen[0]).toEqual({ monitorId: other, jobId: `repeat:${before?.id}:${before?.next}` });
});

test('a lost delayed job is replaced, with its phase', async () => {
  const reconciler = reconcilerWith();
  const { id, wave } = await scheduledMonitor(reconciler);
  const [schedule] = await storedSchedules(queue, 'default');
  await queue.redis.del(`${PREFIX}:repeat:${wave}:${schedule?.next}`);
  await queue.redis.zrem(`${PREFIX}:delayed`, `repeat:${wave}:${schedule?.next}`);
  await queue.redis.zadd(`${PREFIX}:repeat`, (schedule?.next ?? 0) - 120_000, wave);
  expect(await storedJobs(queue, 'default')).toEqual([]);
  const repairedAt = Date.now();
  await reconciler.run(never);
  const [revived] = await storedSchedules(queue, 'default');
  expect(revived?.next).toBeGreaterThan(repairedAt);
  expect((revived?.next ?? 0) % 60_000).toBe(waveOf(id, 60).phaseMs);
  expect(await storedJobs(queue, 'default')).toEqual([`repeat:${wave}:${revived?.next}`]);
  expect(await synced()).toContain('region="default",cause="lost",action="applied"} 1');
});

test('a delayed job that is lost only from the queue is replaced', async () => {
  const reconciler = reconcilerWith();
  const { wave } = await scheduledMonitor(reconciler);
  const [schedule] = await storedSchedules(queue, 'default');
  const overdue = (schedule?.next ?? 0) - 120_000;
  await queue.redis.rename(
    `${PREFIX}:repeat:${wave}:${schedule?.next}`,
    `${PREFIX}:repeat:${wave}:${overdue}`,
  );
  await queue.redis.zrem(`${PREFIX}:delayed`, `repeat:${wave}:${schedule?.next}`);
  await queue.redis.zadd(`${PREFIX}:repeat`, overdue, wave);
  const repairedAt = Date.now();
  await reconciler.run(never);
  const [revived] = await storedSchedules(queue, 'default');
  expect(await storedJobs(queue, 'default')).toEqual([`repeat:${wave}:${revived?.next}`]);
  expect(revived?.next).toBeGreaterThan(repairedAt);
});

test('only stray schedulers are removed, including in regions without monitors', async () => {
  const reconciler = reconcilerWith(queue.producers, ['default', 'empty']);
  const { wave } = await scheduledMonitor(reconciler);
  const before = await storedSchedules(queue, 'default');
  for (const region of ['default', 'empty']) {
    await new RegionSchedules(queue.producers, region).apply([{ intervalSeconds: 61, phaseMs: 51 }]);
  }
  for (const name of ['not-ours', 'wave-60-60000', '0198f2c4-0000-7000-8000-000000000000']) {
    await queue.producers.queue('check', 'default').upsertJobScheduler(name, { every: 60_000, offset: 1 });
  }
  await reconciler.run(never);
  expect(await storedSchedules(queue, 'default')).toEqual(before);
  expect([await ids(), await ids('empty')]).toEqual([[wave], []]);
  expect(await storedJobs(queue, 'default')).toEqual([`repeat:${wave}:${before[0]?.next}`]);
  expect(await synced()).toContain('region="default",cause="stray",action="removed"} 4');
});

test.each(['before', 'after'] as const)(
  'a monitor that another api creates %s its wave is removed as stray is scheduled',
  async (when) => {
    const [last = '', created = ''] = await commitWave(api, 2);
    const wave = waveId(waveOf(last, 5));
    await reconcilerWith().run(never);
    // Its rows are restored in the middle of the removal.
    const { rows } = await api.database.pool.query('select * from schedule_spans where monitor_id = $1', [
      created,
    ]);
    await api.database.pool.query('delete from schedule_spans where monitor_id = $1', [created]);
    await deleteMonitor(api.context.db, systemActor(api.account.id), last);
    const happens = async (): Promise<void> => {
      await api.database.pool.query(
        'insert into schedule_spans select * from json_populate_recordset(null::schedule_spans, $1)',
        [JSON.stringify(rows)],
      );
      const stores = { db: api.context.db, producers: queue.producers };
      // The other api sees the wave in the store and adds nothing.
      expect(await syncSchedules(stores, 'default', [created])).toBe(when === 'before' ? 0 : 1);
    };
    metrics = createMetrics();
    await reconcilerWith(producersAround(when, happens)).run(never);
    const [schedule] = await storedSchedules(queue, 'default');
    expect(schedule?.id).toBe(wave);
    expect(await storedJobs(queue, 'default')).toContain(`repeat:${wave}:${schedule?.next}`);
  },
);

test('a monitor that moves to another interval leaves its wave to the others', async () => {
  const [stays = '', moves = ''] = await commitWave(api, 2);
  const reconciler = reconcilerWith();
  await reconciler.run(never);
  const [before] = await storedSchedules(queue, 'default');
  await updateMonitor(api.context, systemActor(api.account.id), moves, { interval: 3_600 }, 'default');
  await reconciler.run(never);
  const after = await storedSchedules(queue, 'default');
  expect(after.map(({ id }) => id)).toEqual([waveId(waveOf(moves, 3_600)), waveId(waveOf(stays, 5))]);
  expect(after).toContainEqual(before);
});

test('a backlog that no worker takes is not mistaken for lost jobs', async () => {
  const { id } = await commitMonitor(api);
  await checkOnce(api, id);
  await checkEverySecond();
  const reconciler = reconcilerWith();
  await reconciler.run(never);
  const [before] = await storedSchedules(queue, 'default');
  await until('the wave is overdue', () => Date.now() > (before?.next ?? 0) + 3_200);
  await reconciler.run(never);
  expect(await storedSchedules(queue, 'default')).toEqual([before]);
  expect(await synced()).not.toContain('cause="lost"');
});

test('a wave planned by an api with a fast clock is restarted on its phase, but not by that api', async () => {
  const { id } = await commitMonitor(api, { interval: 5 });
  await checkOnce(api, id);
  const reconciler = reconcilerWith();
  const right = Date.now.bind(Date);
  const plannedAt = right();
  const fast = jest.spyOn(Date, 'now').mockImplementation(() => right() + 3_600_000);
  const planned = await (async () => {
    try {
      await reconciler.run(never);
      const [schedule] = await storedSchedules(queue, 'default');
      await reconciler.run(never);
      expect(await storedSchedules(queue, 'default')).toEqual([schedule]);
      return schedule;
    } finally {
      fast.mockRestore();
    }
  })();
  expect(planned?.next).toBeGreaterThan(plannedAt + 3_600_000);
  await reconciler.run(never);
  const [schedule] = await storedSchedules(queue, 'default');
  expect(schedule?.next).toBeLessThanOrEqual(Date.now() + 5_000);
  expect((schedule?.next ?? 0) % 5_000).toBe(waveOf(id, 5).phaseMs);
  expect(await storedJobs(queue, 'default')).toEqual([`repeat:${planned?.id}:${schedule?.next}`]);
  expect(await synced()).toContain('region="default",cause="ahead",action="applied"} 1');
});

test('an api with a slow clock does not treat waves as planned too far ahead', async () => {
  const reconciler = reconcilerWith();
  await scheduledMonitor(reconciler);
  const before = await storedSchedules(queue, 'default');
  const right = Date.now.bind(Date);
  const slow = jest.spyOn(Date, 'now').mockImplementation(() => right() - 3_600_000);
  try {
    await reconciler.run(never);
  } finally {
    slow.mockRestore();
  }
  expect(await storedSchedules(queue, 'default')).toEqual(before);
});
