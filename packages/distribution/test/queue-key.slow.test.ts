import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { readRepositoryFile } from '@tocsin/distribution/repository';
import { migrateQueue } from '@tocsin/queue/migrate';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import type { QueueStore } from '@tocsin/queue/queue-store';
import { Redis } from 'ioredis';

const REGION = 'eu-west-1';
/** The region of the runbook's command. */
const DEFAULT = 'default';
const MONITORS = ['019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c', '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3d'];

let store: QueueStore;
let producers: Producers;
let redis: Redis;
beforeAll(async () => {
  const { url } = await createTestRedis();
  await migrateQueue(url);
  store = openQueueStore(url, () => undefined);
  producers = new Producers(store);
  await store.ping();
  redis = new Redis(url);
});
afterAll(async () => {
  await producers.close();
  await store.close();
  redis.disconnect();
});

test('the runbook shows the list of waiting checks of the region', async () => {
  const runbook = await readRepositoryFile('docs/runbooks/backlog.md');
  const [, list = ''] = /llen '([^']+)'/.exec(runbook) ?? [];
  expect(list).toContain(`.${DEFAULT}}`);
  for (const monitorId of MONITORS) await producers.addFirstCheck(REGION, { monitorId, revision: 1 }, 1_000);
  const lengths = [REGION, DEFAULT].map((region) => redis.llen(list.replace(DEFAULT, region)));
  expect(await Promise.all(lengths)).toEqual([MONITORS.length, 0]);
});
