import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TestRedisSentinel } from '@tocsin/embedded/testing/redis-sentinel';
import { until } from '@tocsin/embedded/testing/until';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import type { QueueStore } from '@tocsin/queue/queue-store';
import { connectRedis, type RedisClient } from '@tocsin/queue/redis-store';
import { parseStoreUrl } from '@tocsin/queue/store-url';
import { succeeds } from './stores.ts';

const REGION = 'eu-west-1';

let sentinel: TestRedisSentinel;
let store: QueueStore;
let producers: Producers;
let worker: JobWorker;
/** Monitors whose checks were done. */
let done: string[];
beforeAll(async () => {
  sentinel = await TestRedisSentinel.start();
});
afterAll(() => sentinel.stop());

function open(url: string): void {
  store = openQueueStore(url, () => undefined);
  producers = new Producers(store);
  done = [];
  worker = startJobWorker(store, {
    kind: 'check',
    region: REGION,
    concurrency: 1,
    process: async (payload) => void done.push('monitorId' in payload ? payload.monitorId : ''),
    onFailed: () => undefined,
  });
}

/** Requests a check until it is accepted, and waits until it is done. */
async function untilChecked(): Promise<void> {
  const monitorId = randomUUID();
  await until('a check to be taken', () =>
    succeeds(producers.addFirstCheck(REGION, { monitorId, revision: 1 }, Date.now())),
  );
  await until('it to be done', () => done.includes(monitorId));
}

test('a Sentinel that accepts a connection and never responds is skipped', async () => {
  const connections = new Set<{ destroy(): void }>();
  const frozen = createServer((socket) => connections.add(socket.on('error', () => undefined)));
  frozen.listen(0, '127.0.0.1');
  await once(frozen, 'listening');
  let client: RedisClient | undefined;
  try {
    const address = parseStoreUrl(sentinel.url((frozen.address() as AddressInfo).port));
    if (address.kind === 'postgres') throw new Error('no Redis');
    client = connectRedis(address, 'worker', undefined, 500);
    client.on('error', () => undefined);
    expect(await client.ping()).toBe('PONG');
    expect(connections.size).toBeGreaterThan(0);
  } finally {
    client?.disconnect();
    for (const connection of connections) connection.destroy();
    frozen.close();
  }
});

test('when the master dies, the same worker continues with the new master', async () => {
  open(sentinel.url());
  try {
    await untilChecked();
    await sentinel.killMaster();
    await untilChecked();
  } finally {
    await worker.close();
    await producers.close();
    await store.close();
  }
});
