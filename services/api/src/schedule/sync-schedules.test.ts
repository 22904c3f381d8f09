import { describe, expect, test } from '@jest/globals';
import type { MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import { waveId, waveOf } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import {
  checkOnce,
  commitMonitor,
  commitWave,
  producersWith,
  scheduledRevision,
  storedJobs,
  storedSchedules,
  storedWaves,
} from '../testing/schedules.ts';
import { useTestApi } from '../testing/test-api.ts';
import { useTestQueue } from '../testing/test-queue.ts';
import { syncSchedules } from './sync-schedules.ts';

const queue = await useTestQueue();
const api = await useTestApi();
const stores = { db: api.context.db, producers: queue.producers };

async function update(id: string, fields: MonitorUpdate): Promise<void> {
  await updateMonitor(api.context, systemActor(api.account.id), id, fields, 'default');
}

describe('syncSchedules', () => {
  test('adds a wave with its offset, and a first check at once', async () => {
    const { id, createdAt } = await commitMonitor(api, { regions: ['new'], interval: 300 });
    expect(await syncSchedules(stores, 'new', [id])).toBe(1);
    const [schedule] = await storedSchedules(queue, 'new');
    const wave = waveOf(id, 300);
    expect(schedule).toMatchObject({ id: waveId(wave), every: 300_000 });
    expect((schedule?.next ?? 0) % 300_000).toBe(wave.offsetMs);
    const first = `first-${id}-${Date.parse(createdAt)}`;
    expect(await storedJobs(queue, 'new')).toEqual([first, `repeat:${schedule?.id}:${schedule?.next}`]);
  });

  test('writes no URLs, headers or secrets to the store', async () => {
    const secret = { headers: { 'X-Token': 'hidden-value' }, url: 'https://hidden.example' };
    const { id } = await commitMonitor(api, { ...secret, regions: ['secret'] });
    await syncSchedules(stores, 'secret', [id]);
    const keys = await queue.redis.keys('*');
    const values = await Promise.all(keys.map((key) => queue.redis.dumpBuffer(key)));
    expect(keys.join('\n')).toContain('secret');
    expect([...keys, ...values.map((value) => value.toString('latin1'))].join('\n')).not.toContain('hidden');
  });

  test('is idempotent, with the same next run and one job', async () => {
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

  test('adds one scheduler and two first checks for two monitors in one wave', async () => {
    const members = await commitWave(api, 2, { regions: ['shared'] });
    expect(await syncSchedules(stores, 'shared', members)).toBe(1);
    expect(await storedWaves(queue, 'shared')).toEqual([waveId(waveOf(members[0] ?? '', 5))]);
    const firsts = (await storedJobs(queue, 'shared')).filter((job) => job.startsWith('first-'));
    expect(firsts.map((job) => job.slice('first-'.length, 'first-'.length + 36))).toEqual(members.toSorted());
  });

  test('adds nothing for a deleted monitor or for a monitor in another region', async () => {
    const gone = await commitMonitor(api, { regions: ['gone'] });
    const elsewhere = await commitMonitor(api, { regions: ['elsewhere'] });
    await deleteMonitor(api.context.db, systemActor(api.account.id), gone.id);
    expect(await syncSchedules(stores, 'gone', [gone.id, elsewhere.id])).toBe(0);
    expect(await storedJobs(queue, 'gone')).toEqual([]);
    expect(await storedWaves(queue, 'gone')).toEqual([]);
  });

  test('adds and records the new wave of a monitor that changes meanwhile', async () => {
    const { id } = await commitMonitor(api, { regions: ['between'] });
    let changed = false;
    const producers = producersWith(queue, 'between', (real) => ({
      upsertJobScheduler: async (...args: Parameters<typeof real.upsertJobScheduler>) => {
        if (!changed) await update(id, { interval: 77 });
        changed = true;
        return real.upsertJobScheduler(...args);
      },
    }));
    await syncSchedules({ ...stores, producers }, 'between', [id]);
    expect(await storedWaves(queue, 'between')).toContain(waveId(waveOf(id, 77)));
    expect(await scheduledRevision(api, id, 'between')).toBe(2);
  });

  test('leaves a monitor that changes at every read to the reconciler', async () => {
    const { id } = await commitMonitor(api, { regions: ['restless'] });
    let interval = 100;
    const producers = producersWith(queue, 'restless', (real) => ({
      getJobScheduler: async (key: string) => {
        await update(id, { interval: (interval += 1) });
        return real.getJobScheduler(key);
      },
    }));
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
    expect(await storedWaves(queue, 'race')).toContain(waveId(waveOf(id, 111)));
    expect(await scheduledRevision(api, id, 'race')).toBe(13);
  });
});
