import { expect, test } from '@jest/globals';
import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import { createRelay } from './relay.ts';

const delivery = { id: 'd', isChannelFailing: false } as ClaimedDelivery;

test('runs at most a hundred attempts, and takes more as they end', async () => {
  const asked: number[] = [];
  const ends: (() => void)[] = [];
  const relay = createRelay({
    dispatchDue: async () => ({ statusChanges: 0, deliveryIds: [] }),
    claimDue: async ({ limit }) => {
      asked.push(limit);
      return Array.from({ length: Math.min(limit, 60) }, () => delivery);
    },
    deliverer: { attempt: () => new Promise((resolve) => ends.push(resolve)) },
  });
  for (let rounds = 0; rounds < 3; rounds += 1) await relay();
  expect(asked).toEqual([100, 40]);
  for (const end of ends.splice(0, 3)) end();
  await Promise.resolve();
  await relay();
  expect(asked).toEqual([100, 40, 3]);
});

test('half of its attempts are for channels that do not fail', async () => {
  const asked: object[] = [];
  const ends: (() => void)[] = [];
  const relay = createRelay({
    dispatchDue: async () => ({ statusChanges: 0, deliveryIds: [] }),
    claimDue: async (scope) => {
      asked.push(scope);
      return Array.from({ length: scope.failingLimit }, () => ({ ...delivery, isChannelFailing: true }));
    },
    deliverer: { attempt: () => new Promise((resolve) => ends.push(resolve)) },
  });
  await relay();
  await relay();
  expect(asked).toEqual([
    { limit: 100, failingLimit: 50 },
    { limit: 50, failingLimit: 0 },
  ]);
  for (const end of ends.splice(0, 3)) end();
  await Promise.resolve();
  await relay();
  expect(asked[2]).toEqual({ limit: 53, failingLimit: 3 });
});

test('dispatches all due status changes in batches, and a failure delays no delivery', async () => {
  const batches = [200, 200, 7];
  let claims = 0;
  let broken = false;
  const relay = createRelay({
    dispatchDue: async () => {
      if (broken) throw new Error('refused');
      return { statusChanges: batches.shift() ?? 0, deliveryIds: [] };
    },
    claimDue: async () => {
      claims += 1;
      return [];
    },
    deliverer: { attempt: async () => undefined },
  });
  await relay();
  expect([batches, claims]).toEqual([[], 1]);
  broken = true;
  await expect(relay()).rejects.toThrow('refused');
  expect(claims).toBe(2);
});
