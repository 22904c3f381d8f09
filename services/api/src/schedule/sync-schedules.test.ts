import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import { waveId, waveOf } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { until } from '@tocsin/embedded/testing/until';
import { Producers } from '@tocsin/queue/producers';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import {
  checkOnce,
  commitMonitor,
  commitWave,
  scheduledRevision,
  storedJobs,
  storedSchedules,
} from '../testing/schedules.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { ENQUEUE_WITHIN_MS, openTestQueue, type TestQueue } from '../testing/test-queue.ts';
import { ScheduleApplier, type Touched } from './schedule-applier.ts';
import { type ScheduleStores, syncSchedules } from './sync-schedules.ts';

let api: TestApi;
let queue: TestQueue;
let stores: ScheduleStores;
let applier: ScheduleApplier;
beforeAll(async () => {
  queue = await openTestQueue();
  const sync = (region: string, touched: Touched): Promise<number> =>
    syncSchedules(stores, region, [...touched.keys()]);
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
  await updateMonitor(api.context, systemActor(api.account.id), id, fields, 'default');
}

/** Producers that run other work just before a scheduler is first written. */
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
  return Object.assign(new Producers(queue.stores, ENQUEUE_WITHIN_MS), { queue: () => late });
}

const ids = async (region: string): Promise<string[]> =>
  (await storedSchedules(queue, region)).map((schedule) => schedule.id);

/** Waits until this revision of a monitor is applied in a region. */
async function scheduledAs(revision: number, id: string, region: string): Promise<void> {
  await until(
    `revision ${revision} is applied in region ${region}`,
    async () => (await scheduledRevision(api, id, region)) === revision,
  );
}

/** Every key of the store with its value. */
async function storeDump(): Promise<Map<string, string>> {
  const keys = (await queue.redis.keys('*')).toSorted();
  const dumps = await Promise.all(keys.map((key) => queue.redis.dumpBuffer(key)));
  return new Map(keys.map((key, index) => [key, dumps[index]?.toString('latin1') ?? '']));
}

describe('after a request', () => {
  test('create: its wave in each region, and a first check at once', async () => {
    const monitor = await newMonitor(api, { regions: ['r1', 'r2'], interval: 300 });
    const wave = waveOf(monitor.id, 300);
    for (const region of ['r1', 'r2']) {
      await scheduledAs(1, monitor.id, region);
      const [schedule] = await storedSchedules(queue, region);
      expect(schedule).toMatchObject({ id: waveId(wave), every: 300_000 });
      expect((schedule?.next ?? 0) % 300_000).toBe(wave.phaseMs);
      const createdAt = Date.parse(monitor.createdAt);
      expect(await storedJobs(queue, region)).toEqual([
        `first-${monitor.id}-${createdAt}`,
        `repeat:${waveId(wave)}:${schedule?.next}`,
      ]);
    }
  });

  test('update: the wave of the new interval, in its current regions', async () => {
    const { id } = await newMonitor(api, { regions: ['u1', 'u2'] });
    await scheduledAs(1, id, 'u2');
    await api
      .as()
      .put(`${MONITORS}/${id}`)
      .send({ interval: 120, regions: ['u2', 'u3'] });
    for (const region of ['u2', 'u3']) {
      await scheduledAs(2, id, region);
      expect(await ids(region)).toContain(waveId(waveOf(id, 120)));
    }
    expect(await ids('u1')).not.toContain(waveId(waveOf(id, 120)));
  });

  test('update of the probe, and delete: the store is unchanged', async () => {
    const { id } = await newMonitor(api, { regions: ['e1'], interval: 86_400 });
    await scheduledAs(1, id, 'e1');
    await checkOnce(api, id, { region: 'e1' });
    const before = await storeDump();
    expect(before.size).toBeGreaterThan(0);
    await api.as().put(`${MONITORS}/${id}`).send({ url: 'https://other.example', timeout: 3 });
    await scheduledAs(2, id, 'e1');
    expect(await storeDump()).toEqual(before);
    await api.as().delete(`${MONITORS}/${id}`);
    // The applier has finished all earlier changes.
    const { id: next } = await newMonitor(api, { regions: ['e2'] });
    await scheduledAs(1, next, 'e2');
    const after = await storeDump();
    expect(new Map([...before.keys()].map((key) => [key, after.get(key)]))).toEqual(before);
  });

  test('the store contains no URLs, headers or secrets', async () => {
    const { id } = await newMonitor(api, {
      headers: { 'X-Token': 'hidden-value' },
      url: 'https://hidden.example',
      regions: ['s1'],
    });
    await scheduledAs(1, id, 's1');
    const dump = await storeDump();
    expect([...dump.keys()].join('\n')).toContain('s1');
    expect([...dump].flat().join('\n')).not.toContain('hidden');
  });
});

describe('syncSchedules', () => {
  test('is idempotent: same next run, one job', async () => {
    const { id } = await commitMonitor(api, { regions: ['same'] });
    await checkOnce(api, id, { region: 'same' });
    expect(await syncSchedules(stores, 'same', [id])).toBe(1);
    const before = await storedSchedules(queue, 'same');
    for (let round = 0; round < 3; round += 1) {
      expect(await syncSchedules(stores, 'same', [id])).toBe(0);
    }
    expect(await storedSchedules(queue, 'same')).toEqual(before);
    expect(await storedJobs(queue, 'same')).toEqual([`repeat:${before[0]?.id}:${before[0]?.next}`]);
  });

  test('adds one scheduler and two first checks for two monitors of one wave', async () => {
    const members = await commitWave(api, 2, { regions: ['shared'] });
    expect(await syncSchedules(stores, 'shared', members)).toBe(1);
    expect(await ids('shared')).toEqual([waveId(waveOf(members[0] ?? '', 5))]);
    const firsts = (await storedJobs(queue, 'shared')).filter((job) => job.startsWith('first-'));
    expect(firsts.map((job) => job.slice('first-'.length, 'first-'.length + 36))).toEqual(members.toSorted());
  });

  test('adds no first check for a monitor that has a result', async () => {
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

  test('adds nothing for a deleted monitor or one of another region', async () => {
    const gone = await commitMonitor(api, { regions: ['gone'] });
    const elsewhere = await commitMonitor(api, { regions: ['elsewhere'] });
    await deleteMonitor(api.context.db, systemActor(api.account.id), gone.id);
    expect(await syncSchedules(stores, 'gone', [gone.id, elsewhere.id])).toBe(0);
    expect(await storedJobs(queue, 'gone')).toEqual([]);
    expect(await ids('gone')).toEqual([]);
  });

  test('adds and records the new wave of a monitor that changes meanwhile', async () => {
    const { id } = await commitMonitor(api, { regions: ['between'] });
    const late = producersWith('between', () => update(id, { interval: 77 }));
    await syncSchedules({ ...stores, producers: late }, 'between', [id]);
    expect(await ids('between')).toContain(waveId(waveOf(id, 77)));
    expect(await scheduledRevision(api, id, 'between')).toBe(2);
  });

  test('does not record a monitor that changes at every read: the reconciler continues', async () => {
    const { id } = await commitMonitor(api, { regions: ['restless'] });
    const real = queue.producers.queue('check', 'restless');
    let interval = 100;
    const restless = Object.assign(Object.create(real) as typeof real, {
      getJobScheduler: async (key: string) => {
        await update(id, { interval: (interval += 1) });
        return real.getJobScheduler(key);
      },
    });
    const producers = Object.assign(new Producers(queue.stores, ENQUEUE_WITHIN_MS), {
      queue: () => restless,
    });
    await syncSchedules({ ...stores, producers }, 'restless', [id]);
    expect(await scheduledRevision(api, id, 'restless')).toBeNull();
  });

  test('adds the wave that Postgres wants, however late and often it runs', async () => {
    const { id } = await commitMonitor(api, { regions: ['race'] });
    const running: Promise<number>[] = [];
    for (let round = 0; round < 12; round += 1) {
      await update(id, { interval: 100 + round, regions: round % 3 === 1 ? ['other'] : ['race'] });
      running.push(syncSchedules(stores, 'race', [id]), syncSchedules(stores, 'other', [id]));
    }
    await Promise.all(running);
    expect(await ids('race')).toContain(waveId(waveOf(id, 111)));
    expect(await scheduledRevision(api, id, 'race')).toBe(13);
  });
});
