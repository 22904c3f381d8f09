import { describe, expect, test } from '@jest/globals';
import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { ClaimScope } from '@tocsin/db/deliveries/next-deliveries';
import {
  type DispatchedStatusChanges,
  type DispatchScope,
  NOTHING_DISPATCHED,
} from '@tocsin/db/status-changes/dispatch-status-changes';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { until } from '@tocsin/runtime/testing/until';
import { createDispatching } from './dispatching.ts';
import { createClaiming, startRelay, type ClaimingOptions } from './relay.ts';

interface Attempt {
  readonly delivery: ClaimedDelivery;
  /** Makes the receiver accept the webhook. */
  readonly accept: () => void;
  /** Ends the recording of the attempt. */
  readonly record: () => void;
}

/** Deliverers whose attempts the test ends. */
function claimingOn(claimDue: ClaimingOptions['claimDue']) {
  const scopes: Required<ClaimScope>[] = [];
  const attempts: Attempt[] = [];
  let wakes = 0;
  const claim = createClaiming({
    claimDue: (scope) => {
      scopes.push(scope);
      return claimDue(scope);
    },
    deliverer: {
      attempt: (delivery, onSuccess) =>
        new Promise((record) => attempts.push({ delivery, accept: onSuccess ?? (() => undefined), record })),
    },
    onSuccess: () => (wakes += 1),
    refusedIds: () => [],
  });
  return { claim, scopes, attempts, wakes: () => wakes };
}

function deliveriesOf(count: number): ClaimedDelivery[] {
  return Array.from({ length: count }, (_, index) => ({ id: `d${index}` }) as ClaimedDelivery);
}

describe('claiming', () => {
  test('fills its capacity of three hundred attempts, and takes more as they are recorded', async () => {
    const { claim, scopes, attempts } = claimingOn(async ({ limit }) => deliveriesOf(Math.min(limit, 180)));
    for (let rounds = 0; rounds < 3; rounds += 1) await claim();
    expect(scopes.map(({ limit }) => limit)).toEqual([300, 120, 0]);
    for (const { accept, record } of attempts.splice(0, 3)) {
      accept();
      record();
    }
    await Promise.resolve();
    await claim();
    expect(scopes[3]).toMatchObject({ limit: 3, endedIds: [] });
  });

  test('successful attempts make room in their channel before they are recorded, but not in the notifier', async () => {
    const { claim, scopes, attempts, wakes } = claimingOn(async () => deliveriesOf(2));
    await claim();
    attempts[0]?.accept();
    expect(wakes()).toBe(1);
    await claim();
    expect(scopes[1]).toMatchObject({ limit: 298, endedIds: ['d0'] });
  });

  test('also lets accounts within their share start attempts beyond the capacity, up to a maximum', async () => {
    const { claim, scopes, attempts, wakes } = claimingOn(async ({ capacity }) => deliveriesOf(capacity));
    for (let rounds = 0; rounds < 4; rounds += 1) await claim();
    expect(scopes.map(({ limit, capacity }) => [limit, capacity])).toEqual([
      [300, 300],
      [0, 300],
      [0, 300],
    ]);
    attempts[0]?.accept();
    expect(wakes()).toBe(0);
  });
});

const PROGRESSED: DispatchedStatusChanges = { ...NOTHING_DISPATCHED, progressed: true };

describe('the relay', () => {
  test('dispatches until nothing is due, and claims even while dispatching hangs', async () => {
    const results = [PROGRESSED, { ...NOTHING_DISPATCHED, blocked: true }, PROGRESSED];
    let claims = 0;
    const relay = startRelay({
      dispatch: async () => results.shift() ?? new Promise<never>(() => undefined),
      claimDue: async () => {
        claims += 1;
        return [];
      },
      deliverer: { attempt: async () => undefined },
      onRefused: () => undefined,
      logger: createSilentLogger(),
    });
    await until('every round', () => results.length === 0);
    const before = claims;
    await until('more claims', () => {
      relay.wake();
      return claims > before + 2;
    });
    void relay.stop();
  });
});

test('a refused status change is tried again alone, less and less often', async () => {
  const scopes: DispatchScope[] = [];
  let time = 0;
  let isRefused = true;
  let isTemporary = false;
  let refusals = 0;
  const { round, refusedIds } = createDispatching({
    dispatch: async (scope) => {
      scopes.push(scope);
      const isIncluded = 'statusChangeIds' in scope || scope.excludedIds?.length === 0;
      const refused = [{ id: 'a', error: new Error('refused'), isTemporary }];
      return isRefused && isIncluded ? { ...PROGRESSED, refused } : NOTHING_DISPATCHED;
    },
    onRefused: () => (refusals += 1),
    onDispatched: () => undefined,
    logger: createSilentLogger(),
    now: () => time,
  });
  expect(await round()).toBe(0);
  expect(await round()).toBeNull();
  expect(scopes.splice(0)).toEqual([
    { limit: 200, excludedIds: [] },
    // After progress, there may be a backlog, and several parts of it are dispatched at a time.
    ...Array.from({ length: 4 }, () => ({ limit: 200, excludedIds: ['a'] })),
  ]);
  for (const waitMs of [1_000, 2_000, 4_000]) {
    time += waitMs - 1;
    await round();
    time += 1;
    await round();
  }
  expect(scopes.splice(0).filter((scope) => 'statusChangeIds' in scope)).toHaveLength(3);
  expect([refusals, refusedIds()]).toEqual([4, ['a']]);
  // After a temporary error, such as a timeout, later status changes of its monitor wait for it.
  isTemporary = true;
  time += 30_000;
  await round();
  expect([refusals, refusedIds()]).toEqual([5, []]);
  time += 30_000;
  isRefused = false;
  await round();
  expect(scopes.at(-1)).toEqual({ statusChangeIds: ['a'] });
  await round();
  expect(scopes.at(-1)).toEqual({ limit: 200, excludedIds: [] });
});
