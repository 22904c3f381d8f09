import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { nextSlot } from '@tocsin/core/schedule/slots';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { Producers } from '@tocsin/queue/producers';
import { openQueueStores, type QueueStores } from '@tocsin/queue/queue-stores';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createRetry } from './retries.ts';

const PATIENT_MS = 120_000;
/** A day from now, so that no retry becomes due. */
const STARTED_AT = Date.now() + 86_400_000;

let stores: QueueStores;
let producers: Producers;
beforeEach(async () => {
  const { url } = await createTestRedis();
  stores = openQueueStores(url, new Map(), () => undefined);
  producers = new Producers(stores, PATIENT_MS);
  await until('the store to respond', () =>
    stores
      .ping()
      .then(() => true)
      .catch(() => false),
  );
});
afterEach(async () => {
  await producers.close();
  await stores.close();
});

const targetOf = (monitorId: string, retryIntervalSeconds: number | null = 10) => {
  return { monitorId, revision: 3, intervalSeconds: 600, retryIntervalSeconds };
};

test('the retries of failures that are recorded together are added together, in their region', async () => {
  const sizes: number[] = [];
  const retry = createRetry(
    {
      addExtraChecks: async (region, reason, checks) => {
        sizes.push(checks.length);
        await producers.addExtraChecks(region, reason, checks);
      },
    },
    createSilentLogger(),
    () => STARTED_AT,
  );
  const failed = Array.from({ length: 600 }, () => targetOf(randomUUID()));
  const slots = failed.map(({ monitorId }) => nextSlot(monitorId, 600, STARTED_AT));
  await Promise.all(
    failed.map((target, index) => retry(target, index < 400 ? 'eu' : 'us', slots[index] ?? 0)),
  );
  expect(sizes).toEqual([400, 200]);
  expect(await producers.queue('check', 'eu').getDelayedCount()).toBe(400);
  expect(await producers.queue('check', 'us').getDelayedCount()).toBe(200);
});

test('several failures of a monitor have one retry, with its slot as its time', async () => {
  const retry = createRetry(producers, createSilentLogger(), () => STARTED_AT);
  const target = targetOf(randomUUID());
  const planned = nextSlot(target.monitorId, 600, STARTED_AT);
  await retry(target, 'eu', planned);
  await Promise.all([retry(target, 'eu', planned + 40), retry(target, 'eu', planned + 9_999)]);
  const jobs = await producers.queue('check', 'eu').getDelayed();
  expect(jobs.map(({ id, data }) => ({ id, data }))).toEqual([
    {
      id: `retry-${target.monitorId}-${planned + 10_000}`,
      data: { monitorId: target.monitorId, revision: 3 },
    },
  ]);
});

test('without a retry interval nothing is added', async () => {
  const retry = createRetry(producers, createSilentLogger());
  await retry(targetOf(randomUUID(), null), 'eu', STARTED_AT);
  expect(await producers.queue('check', 'eu').getDelayedCount()).toBe(0);
});

test('a check ends although the queue does not respond', async () => {
  const refuse = { addExtraChecks: () => Promise.reject(new Error('connection refused')) };
  const retry = createRetry(refuse, createSilentLogger(), () => STARTED_AT);
  const target = targetOf(randomUUID());
  await expect(retry(target, 'eu', nextSlot(target.monitorId, 600, STARTED_AT))).resolves.toBeUndefined();
});
