import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { phaseMs } from '@tocsin/core/schedule/phase';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitor';
import { updateMonitor } from '@tocsin/db/monitors/update-monitor';
import type { MonitorUpdate } from '@tocsin/contracts/monitor';
import { Producers } from '@tocsin/queue/producers';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
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
import { ScheduleApplier } from './schedule-applier.ts';
import { syncSchedules } from './sync-schedules.ts';
import type { ScheduleStores, SyncResult } from './sync-schedules.ts';

let api: TestApi;
let queue: TestQueue;
let stores: ScheduleStores;
let applier: ScheduleApplier;
beforeAll(async () => {
  queue = await openTestQueue();
  const sync = (region: string, ids: readonly string[]): Promise<SyncResult> =>
    syncSchedules(stores, region, ids);
  applier = new ScheduleApplier({ sync, logger: createSilentLogger() });
  api = await openTestApi({ producers: queue.producers, schedules: applier });
  stores = { db: api.context.db, producers: queue.producers };
});
afterAll(async () => {
  await applier.stop();
  await queue.close();
  await api.close();
});

async function update(id: string, fields: MonitorUpdate): Promise<void> {
  await updateMonitor(api.context, api.account.id, id, fields, 'default');
}

/** Producers that do something else just before a schedule is first written in a region: they are late. */
function producersWith(region: string, before: () => Promise<void>): Producers {
  const real = queue.producers.queue('check', region);
  let first = true;
  const late = Object.assign(Object.create(real) as typeof real, {
    upsertJobScheduler: async (...args: Parameters<typeof real.upsertJobScheduler>) => {
      if (first) await before();
      first = false;
      return real.upsertJobScheduler(...args);
    },
  });
  return Object.assign(new Producers(queue.stores), { queue: () => late });
}

describe('after a request', () => {
  test('create: a schedule at its phase in each region, and a first check at once', async () => {
    const monitor = await newMonitor(api, { regions: ['r1', 'r2'], interval: 300 });
    for (const region of ['r1', 'r2']) {
      await until(async () => (await scheduledRevision(api, monitor.id, region)) === 1);
      const [schedule] = await storedSchedules(queue, region);
      expect(schedule).toMatchObject({ id: monitor.id, every: 300_000, revision: 1 });
      expect((schedule?.next ?? 0) % 300_000).toBe(phaseMs(monitor.id, 300_000));
      const createdAt = Date.parse(monitor.createdAt);
      expect(await storedJobs(queue, region)).toEqual([
        `first-${monitor.id}-${createdAt}`,
        `repeat:${monitor.id}:${schedule?.next}`,
      ]);
    }
  });

  test('update: the new interval and revision, and the region it left is without it', async () => {
    const { id } = await newMonitor(api, { regions: ['u1', 'u2'] });
    await until(async () => (await storedSchedules(queue, 'u2')).length === 1);
    await api
      .as()
      .put(`${MONITORS}/${id}`)
      .send({ interval: 120, regions: ['u2', 'u3'] });
    for (const region of ['u2', 'u3']) {
      await until(async () => (await scheduledRevision(api, id, region)) === 2);
      expect(await storedSchedules(queue, region)).toMatchObject([{ id, every: 120_000, revision: 2 }]);
    }
    await until(async () => (await storedSchedules(queue, 'u1')).length === 0);
  });

  test('delete: no schedule and no planned check is left', async () => {
    const { id } = await newMonitor(api, { regions: ['d1'] });
    await until(async () => (await storedSchedules(queue, 'd1')).length === 1);
    await api.as().delete(`${MONITORS}/${id}`);
    await until(async () => (await storedSchedules(queue, 'd1')).length === 0);
    expect((await storedJobs(queue, 'd1')).filter((job) => job.startsWith('repeat'))).toEqual([]);
  });

  test('there are no URLs, headers or secrets in the store', async () => {
    await newMonitor(api, {
      headers: { 'X-Token': 'hidden-value' },
      url: 'https://hidden.example',
      regions: ['s1'],
    });
    await until(async () => (await storedSchedules(queue, 's1')).length === 1);
    const keys = await queue.redis.keys('*');
    const dumps = await Promise.all(keys.map((key) => queue.redis.dumpBuffer(key)));
    expect(keys.join('\n')).not.toContain('hidden');
    expect(dumps.some((dump) => dump?.toString('latin1').includes('hidden'))).toBe(false);
  });
});

describe('syncSchedules', () => {
  test('applying the same again changes nothing: same next run, one job', async () => {
    const { id } = await commitMonitor(api, { regions: ['same'] });
    await checkOnce(api, id, { region: 'same' });
    await syncSchedules(stores, 'same', [id]);
    const before = await storedSchedules(queue, 'same');
    for (let round = 0; round < 3; round += 1) {
      expect(await syncSchedules(stores, 'same', [id])).toEqual({ applied: 1, removed: 0 });
    }
    expect(await storedSchedules(queue, 'same')).toEqual(before);
    expect(await storedJobs(queue, 'same')).toEqual([`repeat:${id}:${before[0]?.next}`]);
  });

  test('a monitor with a result gets no further first check; one without keeps one', async () => {
    const { id } = await commitMonitor(api, { regions: ['first'] });
    await syncSchedules(stores, 'first', [id]);
    await syncSchedules(stores, 'first', [id]);
    const firsts = async (): Promise<string[]> =>
      (await storedJobs(queue, 'first')).filter((job) => job.startsWith('first-'));
    expect(await firsts()).toHaveLength(1);
    await queue.producers.queue('check', 'first').drain(false);
    await checkOnce(api, id, { region: 'first' });
    await syncSchedules(stores, 'first', [id]);
    expect(await firsts()).toEqual([]);
  });

  test('removes what Postgres does not want, also what cannot be a monitor of ours', async () => {
    const { id } = await commitMonitor(api, { regions: ['gone'] });
    await syncSchedules(stores, 'gone', [id]);
    await deleteMonitor(api.context.db, api.account.id, id);
    const foreign = 'no-uuid';
    await queue.producers.queue('check', 'gone').upsertJobScheduler(foreign, { every: 60_000 });
    expect(await syncSchedules(stores, 'gone', [id, foreign, randomUUID()])).toEqual({
      applied: 0,
      removed: 3,
    });
    expect(await storedSchedules(queue, 'gone')).toEqual([]);
  });

  test.each([
    ['changes', (id: string) => update(id, { interval: 77 }), [{ every: 77_000, revision: 2 }]],
    ['leaves the region', (id: string) => update(id, { regions: ['elsewhere'] }), []],
    ['is deleted', (id: string) => deleteMonitor(api.context.db, api.account.id, id), []],
  ] as const)(
    'a monitor %s while an old schedule is written: the new state wins',
    async (what, change, expected) => {
      const region = `between ${what}`.replaceAll(' ', '-');
      const { id } = await commitMonitor(api, { regions: [region] });
      const late = producersWith(region, async () => {
        await change(id);
        await syncSchedules(stores, region, [id]);
      });
      await syncSchedules({ ...stores, producers: late }, region, [id]);
      expect(await storedSchedules(queue, region)).toMatchObject(expected);
      const scheduled = await scheduledRevision(api, id, region);
      expect(scheduled).toBe(expected[0]?.revision ?? null);
    },
  );

  test('however late and often it runs, the store ends as Postgres is', async () => {
    const { id } = await commitMonitor(api, { regions: ['race'] });
    const running: Promise<SyncResult>[] = [];
    for (let round = 0; round < 30; round += 1) {
      await update(id, { interval: 100 + round, regions: round % 3 === 1 ? ['other'] : ['race'] });
      running.push(syncSchedules(stores, 'race', [id]), syncSchedules(stores, 'other', [id]));
    }
    await Promise.all(running);
    expect(await storedSchedules(queue, 'race')).toMatchObject([{ id, every: 129_000, revision: 31 }]);
    expect(await storedSchedules(queue, 'other')).toEqual([]);
    expect(await scheduledRevision(api, id, 'race')).toBe(31);
  });
});
