import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { FairLimiter, type Release } from './fair-limiter.ts';

type Kind = 'account' | 'host';

let limiter: FairLimiter<Kind>;
/** Who was given a place, in order, with what gives it back. */
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

/** Requests a place; the name is `account/host`. */
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
  test('hold for all places, for each account and for each host', async () => {
    for (const name of ['a/1', 'a/1', 'a/1', 'a/2', 'a/3', 'b/4', 'c/5']) await request(name);
    expect(names()).toEqual(['a/1', 'a/1', 'a/2', 'b/4']);
    expect([limiter.held, limiter.waiting]).toEqual([4, 3]);
  });

  test('do not keep a place from an owner that has room while another waits', async () => {
    for (const name of ['a/1', 'a/1', 'a/1', 'b/2']) await request(name);
    expect(names()).toEqual(['a/1', 'a/1', 'b/2']);
  });

  test('count a place once, however often it is released', async () => {
    await request('a/1');
    await release(0);
    await release(0);
    expect(limiter.held).toBe(0);
  });
});

describe('a free place goes to', () => {
  test('the waiting account that holds the fewest', async () => {
    for (const name of ['a/1', 'a/2', 'a/3', 'b/4', 'a/5', 'b/6', 'c/7']) await request(name);
    await release(0);
    await release(1);
    expect(names().slice(4)).toEqual(['c/7', 'a/5']);
  });

  test('the first request of an account that fits', async () => {
    for (const name of ['a/1', 'a/1', 'b/2', 'c/3', 'a/1', 'a/4']) await request(name);
    await release(2);
    expect(names().slice(4)).toEqual(['a/4']);
    await release(0);
    expect(names().slice(5)).toEqual(['a/1']);
  });
});

test('a request that waits too long is refused, and the next one gets the place', async () => {
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

test('whoever waits can be refused at once', async () => {
  for (const name of ['a/1', 'b/2', 'c/3', 'd/4', 'e/5', 'f/6']) await request(name);
  limiter.refuseWaiting();
  await settle();
  expect([refused, limiter.waiting]).toEqual([['e/5', 'f/6'], 0]);
});

test('a forced place counts, so that others wait until the limits hold again', async () => {
  for (const name of ['a/1', 'b/2', 'c/3', 'd/4']) await request(name);
  const forced = limiter.force({ account: 'e', host: '5' });
  await request('f/6');
  await release(0);
  expect([limiter.held, limiter.waiting]).toEqual([4, 1]);
  forced();
  await settle();
  expect(names().slice(4)).toEqual(['f/6']);
});

test('nothing is kept of owners that hold no place', async () => {
  for (let index = 0; index < 1_000; index += 1)
    limiter.tryAcquire({ account: `${index}`, host: `${index}` })?.();
  expect([limiter.held, limiter.waiting]).toEqual([0, 0]);
  await request('a/1');
  expect(names()).toEqual(['a/1']);
});
