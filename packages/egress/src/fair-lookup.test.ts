import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { LookupAddress } from 'node:dns';
import { createFairLookup, type LookupOwner, type OwnedLookup } from './fair-lookup.ts';

const ADDRESS: LookupAddress = { address: '192.0.2.1', family: 4 };

/** Lookups under way, in the order in which they began; each ends when the test says so. */
let underway: { readonly hostname: string; end(error?: NodeJS.ErrnoException): void }[];
let lookup: OwnedLookup;
/** What was answered, in order: the name, or the code of the error. */
let answered: string[];
beforeEach(() => {
  jest.useFakeTimers();
  underway = [];
  answered = [];
  lookup = createFairLookup({
    now: () => Date.now(),
    lookup: (hostname, _options, callback) => {
      const one = {
        hostname,
        end: (error: NodeJS.ErrnoException | null = null) => {
          underway = underway.filter((other) => other !== one);
          callback(error, error ? [] : [ADDRESS]);
        },
      };
      underway.push(one);
    },
  });
});
afterEach(() => {
  jest.useRealTimers();
});

function ask(hostname: string, owner: Partial<LookupOwner> = {}, family = 0): void {
  const whole = {
    account: 'one',
    resource: hostname,
    redirected: false,
    deadline: Date.now() + 10_000,
    ...owner,
  };
  lookup(hostname, { all: true, family }, whole, (error) => answered.push(error?.code ?? hostname));
}

const names = (): string[] => underway.map(({ hostname }) => hostname);
const many = (count: number, zone: string): string[] =>
  Array.from({ length: count }, (_, index) => `${index}.${zone}`);

async function end(hostname: string): Promise<void> {
  underway.find((one) => one.hostname === hostname)?.end();
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

/** Makes this name known as one that is answered at once. */
async function makeFast(hostname: string): Promise<void> {
  ask(hostname, { account: 'before' });
  await end(hostname);
  answered = [];
}

test('a name is looked up once for all who ask meanwhile, and again for who asks later', async () => {
  for (let count = 0; count < 3; count += 1) ask('shop.example', { account: `${count}` });
  ask('shop.example', {}, 6);
  expect(names()).toEqual(['shop.example', 'shop.example']);
  for (const one of underway.slice(0)) one.end();
  expect(answered).toEqual(Array<string>(4).fill('shop.example'));
  ask('shop.example');
  expect(names()).toEqual(['shop.example']);
});

test('a lookup that is not answered fails after ten seconds, and its late answer changes nothing', async () => {
  ask('dead.example');
  jest.advanceTimersByTime(10_000);
  expect(answered).toEqual(['EAI_AGAIN']);
  await end('dead.example');
  expect(answered).toEqual(['EAI_AGAIN']);
});

describe('names of redirects that hang', () => {
  const redirected = (account: string): Partial<LookupOwner> => ({ account, redirected: true });

  test('take a few places of their account, however many there are', () => {
    for (const name of many(500, 'dead')) ask(name, redirected('one'));
    const ofOne = names().length;
    expect(ofOne).toBeLessThan(20);
    for (const name of many(500, 'gone')) ask(name, redirected('two'));
    expect(names().filter((name) => name.endsWith('gone')).length).toBe(ofOne);
  });

  test('delay no name that an account gave, known or new', async () => {
    await makeFast('shop.example');
    for (let account = 0; account < 50; account += 1)
      for (const name of many(20, `dead-${account}`)) ask(name, redirected(`${account}`));
    const before = names().length;
    ask('shop.example');
    ask('new.example');
    expect(names().slice(before)).toEqual(['shop.example', 'new.example']);
  });

  test('of one monitor are looked up one by one', async () => {
    const owner = { ...redirected('one'), resource: 'monitor' };
    for (const name of many(3, 'dead')) ask(name, owner);
    expect(names()).toEqual(['0.dead']);
    await end('0.dead');
    expect(names()).toEqual(['1.dead']);
  });

  test('are as any other once they were fast', async () => {
    await makeFast('cdn.example');
    for (const name of many(100, 'dead')) ask(name, redirected('one'));
    const before = names().length;
    ask('cdn.example', redirected('one'));
    expect(names().slice(before)).toEqual(['cdn.example']);
  });
});

test('a name that was slow waits with the other slow ones, until it is fast again', async () => {
  const slow = many(100, 'slow');
  for (const name of slow) {
    ask(name, { account: name });
    jest.advanceTimersByTime(2_000);
    await end(name);
  }
  for (const name of slow) ask(name, { account: name });
  expect(names().length).toBeLessThan(60);
  await end('0.slow');
  const before = names().length;
  ask('0.slow');
  expect(names().slice(before)).toEqual(['0.slow']);
});

test('new names of one account leave room for those of another', () => {
  for (const name of many(500, 'new')) ask(name);
  ask('shop.example', { account: 'two' });
  expect(names()).toContain('shop.example');
});

test('a lookup whose turn does not come before its deadline fails, and is never begun', async () => {
  const owner = { resource: 'monitor', redirected: true };
  ask('dead.example', owner);
  ask('late.example', { ...owner, deadline: Date.now() + 500 });
  jest.advanceTimersByTime(500);
  await end('');
  expect(answered).toEqual(['EAI_AGAIN']);
  await end('dead.example');
  expect(names()).toEqual([]);
});

test('who waits for a turn is told by a lookup of the same name that has begun meanwhile', async () => {
  const owner = { resource: 'monitor', redirected: true };
  ask('dead.example', owner);
  ask('shop.example', owner);
  ask('shop.example', { account: 'two' });
  await end('dead.example');
  expect(names()).toEqual(['shop.example']);
  await end('shop.example');
  expect(answered).toEqual(['dead.example', 'shop.example', 'shop.example']);
});
