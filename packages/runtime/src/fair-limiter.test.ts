import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { FairLimiter, type Release } from './fair-limiter.ts';

type Kind = 'account' | 'host';

let limiter: FairLimiter<Kind>;
/** Acquired permits, in order. */
let started: { name: string; release: Release }[];
let refused: string[];

beforeEach(() => {
  jest.useFakeTimers();
  limiter = new FairLimiter<Kind>({ limit: 4, limits: { account: 3, host: 2 }, sharedBy: 'account' });
  started = [];
  refused = [];
});
afterEach(() => {
  jest.useRealTimers();
});

/** Requests a permit. The name is `account/host`. */
async function request(name: string, withinMs = 1_000): Promise<void> {
  const [account = '', host = ''] = name.split('/');
  void limiter.acquire({ account, host }, withinMs).then((release) => {
    if (release === null) refused.push(name);
    else started.push({ name, release });
  });
  await settle();
}

const names = (): string[] => started.map(({ name }) => name);

async function release(index: number): Promise<void> {
  started[index]?.release();
  await settle();
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

describe('limits', () => {
  test('hold in total, for each account and for each host', async () => {
    for (const name of ['a/1', 'a/1', 'a/1', 'a/2', 'a/3', 'b/4', 'c/5']) await request(name);
    expect(names()).toEqual(['a/1', 'a/1', 'a/2', 'b/4']);
    expect([limiter.used, limiter.waiting]).toEqual([4, 3]);
  });

  test('count a permit once if it is released repeatedly', async () => {
    await request('a/1');
    await release(0);
    await release(0);
    expect(limiter.used).toBe(0);
  });
});

describe('a free permit goes to', () => {
  test('the waiting account with the fewest permits', async () => {
    for (const name of ['a/1', 'a/2', 'a/3', 'b/4', 'a/5', 'b/6', 'c/7']) await request(name);
    await release(0);
    await release(1);
    expect(names().slice(4)).toEqual(['c/7', 'b/6']);
  });

  test('the first request of an account that fits', async () => {
    for (const name of ['a/1', 'a/1', 'b/2', 'c/3', 'a/1', 'a/4']) await request(name);
    await release(2);
    expect(names().slice(4)).toEqual(['a/4']);
    await release(0);
    expect(names().slice(5)).toEqual(['a/1']);
  });
});

test('requests of one account for several hosts take turns', async () => {
  for (const name of ['b/1', 'b/2', 'c/3', 'c/4']) await request(name);
  for (const name of ['a/5', 'a/5', 'a/5', 'a/6', 'a/7']) await request(name);
  for (const index of [0, 1, 2]) await release(index);
  expect(names().slice(4)).toEqual(['a/5', 'a/6', 'a/7']);
});

test('accounts with the same number of permits take turns', async () => {
  limiter = new FairLimiter<Kind>({ limit: 1, limits: { account: 1, host: 1 }, sharedBy: 'account' });
  for (const name of ['x/0', 'a/1', 'a/1', 'a/1', 'b/2', 'b/2', 'c/3']) await request(name);
  for (const index of [0, 1, 2, 3, 4, 5]) await release(index);
  expect(names()).toEqual(['x/0', 'a/1', 'b/2', 'c/3', 'a/1', 'b/2', 'a/1']);
});

test.each([
  ['an account', ['a/1', 'a/2', 'a/3']],
  ['a host', ['a/1', 'a/1', 'b/2']],
])('a release looks at few of the waiting requests where %s holds all it may', async (_, holders) => {
  for (const name of [...holders, 'c/9']) await request(name);
  let looks = 0;
  const owners = {
    get account() {
      looks += 1;
      return 'a';
    },
    get host() {
      looks += 1;
      return '1';
    },
  };
  for (let index = 0; index < 1_000; index += 1) void limiter.acquire(owners, 60_000);
  looks = 0;
  await release(3);
  expect([names().length, limiter.waiting]).toEqual([4, 1_000]);
  expect(looks).toBeLessThan(10);
});

describe('with limits that do not apply to a sole owner', () => {
  beforeEach(() => {
    limiter = new FairLimiter<Kind>({
      limit: 4,
      limits: { account: 3, host: 2 },
      sharedBy: 'account',
      soleOwnerMayUseAll: true,
    });
  });

  test('one account uses all permits', async () => {
    for (const name of ['a/1', 'a/1', 'a/1', 'a/1', 'a/1']) await request(name);
    expect([names().length, limiter.waiting]).toEqual([4, 1]);
  });

  test('free permits go to another account until the first one is below its limit', async () => {
    for (const name of ['a/1', 'a/1', 'a/1', 'a/1', 'a/1', 'b/2']) await request(name);
    await release(0);
    expect(names().slice(4)).toEqual(['b/2']);
    await release(1);
    expect(names().length).toBe(5);
    await release(2);
    expect(names().slice(5)).toEqual(['a/1']);
  });

  test('the first account can use all permits again after the other one stops waiting', async () => {
    for (const name of ['a/1', 'a/1', 'a/1', 'b/2', 'a/1']) await request(name);
    await request('b/2', 100);
    await release(3);
    expect(names().slice(4)).toEqual(['b/2']);
    await release(4);
    expect([names().length, limiter.used]).toEqual([6, 4]);
  });
});

test('a charge counts against its owners and not against the total', async () => {
  const charges = [1, 2, 3].map(() => limiter.charge({ account: 'a', host: '1' }));
  for (const name of ['a/2', 'b/1', 'b/3', 'c/4', 'd/5', 'e/6']) await request(name);
  expect([names(), limiter.used, limiter.waiting]).toEqual([['b/3', 'c/4', 'd/5', 'e/6'], 4, 2]);
  charges[0]?.();
  await release(0);
  expect(names().slice(4)).toEqual(['a/2']);
});

test('a request that waits too long is refused, and the next one gets the permit', async () => {
  for (const name of ['a/1', 'b/2', 'c/3', 'd/4']) await request(name);
  await request('e/5', 100);
  await request('f/6', 200);
  jest.advanceTimersByTime(150);
  await settle();
  expect(refused).toEqual(['e/5']);
  await release(0);
  expect(names().slice(4)).toEqual(['f/6']);
  expect(limiter.waiting).toBe(0);
});

test('waiting requests can be refused', async () => {
  for (const name of ['a/1', 'b/2', 'c/3', 'd/4', 'e/5', 'f/6']) await request(name);
  limiter.refuseWaiting();
  await settle();
  expect([refused, limiter.waiting]).toEqual([['e/5', 'f/6'], 0]);
});
