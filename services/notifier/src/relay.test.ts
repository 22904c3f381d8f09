import { describe, expect, test } from '@jest/globals';
import type { ClaimedDelivery, DueScope } from '@tocsin/db/deliveries/claim-deliveries';
import type { DispatchScope } from '@tocsin/db/status-changes/dispatch-status-changes';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { until } from '@tocsin/runtime/testing/until';
import { createClaiming, startRelay, type ClaimingOptions, type RelayOptions } from './relay.ts';

interface Attempt {
  readonly delivery: ClaimedDelivery;
  /** The receiver has accepted the webhook. */
  readonly accept: () => void;
  /** The attempt is recorded. */
  readonly record: () => void;
}

/** Deliverers whose attempts the test ends. */
function claimingOn(claimDue: ClaimingOptions['claimDue']) {
  const scopes: Required<DueScope>[] = [];
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
  });
  return { claim, scopes, attempts, wakes: () => wakes };
}

function deliveriesOf(count: number, fields: Partial<ClaimedDelivery> = {}): ClaimedDelivery[] {
  const delivery = { isChannelFailing: false, isExtra: false, ...fields } as ClaimedDelivery;
  return Array.from({ length: count }, (_, index) => ({ ...delivery, id: `d${index}` }));
}

describe('claiming', () => {
  test('runs at most three hundred attempts, and takes more as they are recorded', async () => {
    const { claim, scopes, attempts } = claimingOn(async ({ limit }) => deliveriesOf(Math.min(limit, 180)));
    for (let rounds = 0; rounds < 3; rounds += 1) await claim();
    expect(scopes.map(({ limit }) => limit)).toEqual([300, 120]);
    for (const { accept, record } of attempts.splice(0, 3)) {
      accept();
      record();
    }
    await Promise.resolve();
    await claim();
    expect(scopes[2]).toMatchObject({ limit: 3, endedIds: [] });
  });

  test('successful attempts make room in their channel before they are recorded, but not in the notifier', async () => {
    const { claim, scopes, attempts, wakes } = claimingOn(async () => deliveriesOf(2));
    await claim();
    attempts[0]?.accept();
    expect(wakes()).toBe(1);
    await claim();
    expect(scopes[1]).toMatchObject({ limit: 298, endedIds: ['d0'] });
  });

  test('limits attempts to failing channels, and attempts beyond the tenth of a channel', async () => {
    const { claim, scopes, attempts } = claimingOn(async ({ failingLimit, extraLimit }) => [
      ...deliveriesOf(failingLimit, { isChannelFailing: true }),
      ...deliveriesOf(extraLimit, { isExtra: true }),
    ]);
    await claim();
    await claim();
    expect(scopes).toEqual([
      { limit: 300, failingLimit: 50, extraLimit: 100, endedIds: [] },
      { limit: 150, failingLimit: 0, extraLimit: 0, endedIds: [] },
    ]);
    for (const { record } of [...attempts.slice(0, 3), ...attempts.slice(-2)]) record();
    await Promise.resolve();
    await claim();
    expect(scopes[2]).toMatchObject({ limit: 155, failingLimit: 3, extraLimit: 2 });
  });
});

/** A relay whose status changes the test makes due. */
function relayOn(dispatch: RelayOptions['dispatch']) {
  let claims = 0;
  const relay = startRelay({
    dispatch,
    claimDue: async () => {
      claims += 1;
      return [];
    },
    deliverer: { attempt: async () => undefined },
    logger: createSilentLogger(),
  });
  return { relay, claims: () => claims };
}

describe('the relay', () => {
  test('dispatches all due status changes in batches, and claims even while dispatching hangs', async () => {
    const batches = [200, 200, 7];
    const { relay, claims } = relayOn(() => {
      const found = batches.shift();
      return found === 7 || found === undefined ? new Promise(() => undefined) : Promise.resolve(found);
    });
    await until('every batch', () => batches.length === 0);
    const before = claims();
    await until('more claims', () => {
      relay.wake();
      return claims() > before + 2;
    });
    void relay.stop();
  });

  test('dispatches what jobs announce in this order, and finds what it lost when dispatching failed', async () => {
    const scopes: DispatchScope[] = [];
    let isBroken = true;
    const { relay, claims } = relayOn(async (scope) => {
      scopes.push(scope);
      if (isBroken && 'statusChangeIds' in scope) throw new Error('refused');
      return 'limit' in scope ? 0 : scope.statusChangeIds.length;
    });
    await until('the first search', () => scopes.length === 1);
    relay.announce('a');
    await until('a search after the failure', () => scopes.length >= 3);
    expect(scopes.slice(0, 3)).toEqual([{ limit: 200 }, { statusChangeIds: ['a'] }, { limit: 200 }]);
    isBroken = false;
    const before = claims();
    const ids = Array.from({ length: 250 }, (_, index) => `s${index}`);
    for (const id of ids) relay.announce(id);
    const dispatched = (): string[] =>
      scopes.slice(3).flatMap((scope) => ('limit' in scope ? [] : scope.statusChangeIds));
    await until('every status change', () => dispatched().length === ids.length);
    expect(dispatched()).toEqual(ids);
    await until('a claim', () => claims() > before);
    await relay.stop();
  });
});
