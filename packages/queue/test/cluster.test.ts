import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { JobKind } from '@tocsin/contracts/jobs';
import { waveId } from '@tocsin/core/schedule/slots';
import { TestRedisCluster } from '@tocsin/embedded/testing/redis-cluster';
import { until } from '@tocsin/embedded/testing/until';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import { Producers } from '@tocsin/queue/producers';
import { readRegionLoad } from '@tocsin/queue/queue-load';
import { openQueueStores, type QueueStores } from '@tocsin/queue/queue-stores';
import { RegionSchedules } from '@tocsin/queue/schedules';
import { distantWave, PATIENT_MS, untilItResponds } from './stores.ts';

const EU = 'eu-west-1';
const US = 'us-east-1';
/** By the kind of job, and its region. */
const QUEUES = [
  ['check', EU],
  ['check', US],
  ['trigger', EU],
  ['statusChange', null],
  ['delivery', null],
] as const;

let cluster: TestRedisCluster;
let stores: QueueStores;
let producers: Producers;
let workers: JobWorker[] = [];

beforeAll(async () => {
  cluster = await TestRedisCluster.start();
  stores = openQueueStores(cluster.url, new Map(), () => undefined);
  producers = new Producers(stores, PATIENT_MS);
  await untilItResponds(stores);
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
});
afterAll(async () => {
  await producers.close();
  await stores.close();
  await cluster.stop();
});

/** @returns the ids in its jobs, appended as they complete */
function startWorker(kind: JobKind, region: string | null): string[] {
  const done: string[] = [];
  const store = region === null ? stores.main : stores.forRegion(region);
  const process = async (payload: object): Promise<void> => {
    done.push('phaseMs' in payload ? 'wave' : String(Object.values(payload)[0]));
  };
  workers.push(startJobWorker(store, { kind, region, concurrency: 5, process, onFailed: () => undefined }));
  return done;
}

async function addOneOfEach(id: string): Promise<void> {
  await Promise.all([
    producers.addFirstCheck(EU, { monitorId: id, revision: 1 }, Date.now()),
    producers.addFirstCheck(US, { monitorId: id, revision: 1 }, Date.now()),
    producers.addTrigger(EU, { triggerId: id }),
    producers.addStatusChanges([id, randomUUID()]),
    producers.addDeliveries([id, randomUUID()]),
  ]);
}

/** The queues that have keys on each node. */
async function queuesByNode(): Promise<string[][]> {
  const keys = await cluster.runOnAllNodes((redis) => redis.keys('tocsin:{*'));
  return keys.map((ofNode) => [...new Set(ofNode.map((key) => /\{(.+)\}/.exec(key)?.[1] ?? ''))].toSorted());
}

test('jobs of every kind are processed, and each queue may be on another node', async () => {
  const done = QUEUES.map(([kind, region]) => startWorker(kind, region));
  const id = randomUUID();
  await addOneOfEach(id);
  await until('each to be done', () => done.every((ids) => ids.includes(id)));
  const byNode = await queuesByNode();
  expect(byNode.flat().toSorted()).toEqual([
    'checks.eu-west-1',
    'checks.us-east-1',
    'deliveries',
    'status-changes',
    'triggers.eu-west-1',
  ]);
  expect(byNode.filter((queues) => queues.length > 0).length).toBeGreaterThan(1);
  for (const region of [EU, US]) {
    await until('its worker to be counted', async () => {
      const { workers: count, waiting } = await readRegionLoad(producers, region, PATIENT_MS);
      return count === 1 && waiting === 0;
    });
  }
  await expect(stores.main.readClock()).resolves.toBeGreaterThan(1_700_000_000_000);
});

test('one of two processes acquires the lock of a check', async () => {
  const { overlapGuard } = stores.forRegion(EU);
  const monitorId = randomUUID();
  const release = await overlapGuard.acquire(
    { region: EU, monitorId, jobId: 'job-1', forMs: 60_000 },
    PATIENT_MS,
  );
  expect(
    await overlapGuard.acquire({ region: EU, monitorId, jobId: 'job-2', forMs: 60_000 }, PATIENT_MS),
  ).toBeNull();
  await release?.();
  expect(
    await overlapGuard.acquire({ region: EU, monitorId, jobId: 'job-2', forMs: 60_000 }, PATIENT_MS),
  ).not.toBeNull();
});

test('waves run repeatedly, also after every node was flushed', async () => {
  const schedules = new RegionSchedules(producers, EU);
  const distant = distantWave();
  const waves = [...[1, 51, 501].map((phaseMs) => ({ intervalSeconds: 1, phaseMs })), distant];
  const wanted = new Set(waves.map(waveId));
  expect(await schedules.ensure(waves)).toBe(4);
  const done = startWorker('check', EU);
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
  const done = startWorker('check', EU);
  await Promise.all(workers.map((worker) => worker.waitUntilReady()));
  // The other nodes respond that the key has moved.
  const start = await cluster.kill((redis) =>
    redis.exists('tocsin:{checks.eu-west-1}:meta').then(
      () => true,
      () => false,
    ),
  );
  const id = randomUUID();
  const add = (): Promise<void> => producers.addFirstCheck(EU, { monitorId: id, revision: 1 }, 1);
  await expect(add()).rejects.toThrow();
  await start();
  await until('a job to be taken', () =>
    add().then(
      () => true,
      () => false,
    ),
  );
  await until('it to be done', () => done.includes(id));
});
