import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { readManifests } from './manifests.ts';
import { migrateQueue } from '@tocsin/queue/migrate';
import { Producers } from '@tocsin/queue/producers';
import { openQueueStores, type QueueStores } from '@tocsin/queue/queue-stores';
import { Redis } from 'ioredis';
import { MINIMAL } from './chart-variants.ts';
import { renderChart } from './render-chart.ts';

const REGION = 'eu-west-1';
const MONITORS = ['019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c', '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3d'];

interface Trigger {
  readonly type: string;
  readonly metadata: Readonly<Record<string, string>>;
}

let stores: QueueStores;
let producers: Producers;
let redis: Redis;
beforeAll(async () => {
  const { url } = await createTestRedis();
  await migrateQueue(url);
  stores = openQueueStores(url, new Map(), () => undefined);
  producers = new Producers(stores);
  await stores.ping();
  redis = new Redis(url);
});
afterAll(async () => {
  await producers.close();
  await stores.close();
  redis.disconnect();
});

test('KEDA watches the list of waiting checks of the region, and no other', async () => {
  const chart = await renderChart({
    ...MINIMAL,
    regions: { default: null, [REGION]: {}, 'eu-west-2': {} },
    keda: { enabled: true, redis: { address: 'redis:6379' } },
  });
  const lists = readManifests(chart)
    .filter(({ kind }) => kind === 'ScaledObject')
    .map(({ metadata, spec }) => {
      const [trigger] = (spec as { triggers: Trigger[] }).triggers;
      return [metadata.name, trigger?.metadata['listName'] ?? ''] as const;
    });
  for (const monitorId of MONITORS) await producers.addFirstCheck(REGION, { monitorId, revision: 1 }, 1_000);
  const lengths = await Promise.all(lists.map(async ([name, key]) => [name, await redis.llen(key)] as const));
  expect(Object.fromEntries(lengths)).toEqual({
    'up-tocsin-checker-eu-west-1': MONITORS.length,
    'up-tocsin-checker-eu-west-2': 0,
  });
});
