import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { waveId } from '@tocsin/core/schedule/slots';
import { TestRedisCluster } from '@tocsin/embedded/testing/redis-cluster';
import { until } from '@tocsin/embedded/testing/until';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import { readRegionLoad } from '@tocsin/queue/queue-load';
import type { QueueStore } from '@tocsin/queue/queue-store';
import { RegionSchedules } from '@tocsin/queue/schedules';
import { distantWave, PATIENT_MS, succeeds, untilItResponds } from './stores.ts';

const EU = 'eu-west-1';
let cluster: TestRedisCluster;
let store: QueueStore;
let producers: Producers;
let workers: JobWorker[] = [];

beforeAll(async () => {
  cluster = await TestRedisCluster.start();
  store = openQueueStore(cluster.url, () => undefined);
  producers = new Producers(store, PATIENT_MS);
  await untilItResponds(store);
});
afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.close())));
afterAll(async () => {
  await producers.close();
  await store.close();
  await cluster.stop();
});

/** Starts a worker of checks. @returns what it has done: `wave`, or the monitor of a first check */
function startWorker(): string[] {
  const done: string[] = [];
  const process = async (payload: object): Promise<void> => {
    done.push('offsetMs' in payload ? 'wave' : String(Object.values(payload)[0]));
  };
  const options = { kind: 'check', region: EU, concurrency: 5, process, onFailed: () => undefined } as const;
  workers.push(startJobWorker(store, options));
  return done;
}

test('workers are counted, locks exclude each other, and the clock is read', async () => {
  startWorker();
  await until('the worker to be counted', async () => {
    const { workers: count, waiting } = await readRegionLoad(producers, EU, PATIENT_MS);
    return count === 1 && waiting === 0;
  });
  const { overlapGuard } = store;
  const lock = { region: EU, monitorId: randomUUID(), forMs: 60_000 };
  const release = await overlapGuard.acquire({ ...lock, jobId: 'job-1' }, PATIENT_MS);
  expect(await overlapGuard.acquire({ ...lock, jobId: 'job-2' }, PATIENT_MS)).toBeNull();
  await release?.();
  expect(await overlapGuard.acquire({ ...lock, jobId: 'job-2' }, PATIENT_MS)).not.toBeNull();
  await expect(store.readClock()).resolves.toBeGreaterThan(1_700_000_000_000);
});

test('waves run repeatedly, even after every node was flushed', async () => {
  const schedules = new RegionSchedules(producers, EU);
  const distant = distantWave();
  const waves = [...[1, 51, 501].map((offsetMs) => ({ intervalSeconds: 1, offsetMs })), distant];
  const wanted = new Set(waves.map(waveId));
  expect(await schedules.ensure(waves)).toBe(4);
  const done = startWorker();
  await until('some to run', () => done.length >= 3);
  await cluster.runOnAllNodes((redis) => redis.flushall());
  // The worker may have been planning the next run of another wave, which then exists again.
  const { missing, stray } = await schedules.audit(wanted);
  expect([missing.includes(waveId(distant)), stray]).toEqual([true, []]);
  await schedules.apply(waves);
  expect(await schedules.audit(wanted)).toMatchObject({ missing: [], stray: [] });
  const before = done.length;
  await until('them to run twice again', () => done.length >= before + 6);
  await schedules.remove([...wanted]);
  expect((await schedules.audit(new Set())).stray).toEqual([]);
});

test('while a node is lost its queues refuse jobs, and the same workers process jobs once it is back', async () => {
  const done = startWorker();
  await Promise.all(workers.map((worker) => worker.waitUntilReady()));
  // The other nodes respond that the key has moved.
  const start = await cluster.kill((redis) => succeeds(redis.exists('tocsin:{checks.eu-west-1}:meta')));
  const id = randomUUID();
  const add = (): Promise<void> => producers.addFirstCheck(EU, { monitorId: id, revision: 1 }, 1);
  await expect(add()).rejects.toThrow();
  await start();
  await until('a job to be taken', () => succeeds(add()));
  await until('it to be done', () => done.includes(id));
});
