import { expect, test } from '@jest/globals';
import { nextSlot } from '@tocsin/core/schedule/slots';
import type { Producers } from '@tocsin/queue/producers';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createRetry } from './retries.ts';

const STARTED_AT = Date.parse('2026-06-01T10:00:00Z');

type Added = Parameters<Producers['addExtraChecks']>;

/** Makes retries from a fixed moment on, and lists what they add to the queue. */
function retries(respond: () => Promise<void> = async () => undefined) {
  const added: Added[] = [];
  const addExtraChecks = (...args: Added): Promise<void> => {
    added.push(args);
    return respond();
  };
  return { added, retry: createRetry({ addExtraChecks }, createSilentLogger(), () => STARTED_AT) };
}

const targetOf = (monitorId: string, retryIntervalSeconds: number | null = 10) => {
  return { monitorId, revision: 3, intervalSeconds: 600, retryIntervalSeconds };
};

test('the retries of failures that are recorded together are added together, in their region', async () => {
  const { added, retry } = retries();
  const failed = Array.from({ length: 6 }, (_, index) => targetOf(`monitor-${index}`));
  await Promise.all(
    failed.map((target, index) =>
      retry(target, index < 4 ? 'eu' : 'us', nextSlot(target.monitorId, 600, STARTED_AT)),
    ),
  );
  expect(added.map(([region, reason, checks]) => [region, reason, checks.length])).toEqual([
    ['eu', 'retry', 4],
    ['us', 'retry', 2],
  ]);
});

test('several failures of a monitor have the same retry, by which the queue keeps one', async () => {
  const { added, retry } = retries();
  const target = targetOf('shop');
  const planned = nextSlot(target.monitorId, 600, STARTED_AT);
  await retry(target, 'eu', planned);
  await Promise.all([retry(target, 'eu', planned + 40), retry(target, 'eu', planned + 9_999)]);
  const checks = added.flatMap(([, , each]) => each);
  const retried = { monitorId: target.monitorId, revision: 3, slot: planned + 10_000 };
  expect(checks).toEqual([retried, retried, retried]);
});

test('without a retry interval nothing is added', async () => {
  const { added, retry } = retries();
  await retry(targetOf('shop', null), 'eu', STARTED_AT);
  expect(added).toEqual([]);
});

test('a check ends although the queue does not respond', async () => {
  const { retry } = retries(() => Promise.reject(new Error('connection refused')));
  const target = targetOf('shop');
  await expect(retry(target, 'eu', nextSlot(target.monitorId, 600, STARTED_AT))).resolves.toBeUndefined();
});
