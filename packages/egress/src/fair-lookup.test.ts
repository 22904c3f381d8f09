import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { LookupAddress } from 'node:dns';
import { createFairLookup, type LookupOwner, type OwnedLookup } from './fair-lookup.ts';

const ADDRESS: LookupAddress = { address: '192.0.2.1', family: 4 };

/** Lookups under way, in the order in which they began; each ends when the test says so. */
let underway: { readonly hostname: string; answer(): void; end(error?: NodeJS.ErrnoException): void }[];
let lookup: OwnedLookup;
/** Names that are answered after 20 ms, without the test. */
let isAnswered: (hostname: string) => boolean;
/** What was answered, in order: the name, or the code of the error. */
let answered: string[];
beforeEach(() => {
  jest.useFakeTimers();
  underway = [];
  answered = [];
  isAnswered = () => false;
  lookup = createFairLookup({
    now: () => Date.now(),
    lookup: (hostname, _options, callback, ended) => {
      const close = (): void => {
        underway = underway.filter((other) => other !== one);
        ended?.();
      };
      const one = {
        hostname,
        /** Some questions are not answered yet. */
        answer: () => callback(null, [ADDRESS]),
        end: (error: NodeJS.ErrnoException | null = null) => {
          callback(error, error ? [] : [ADDRESS]);
          close();
        },
      };
      underway.push(one);
      if (isAnswered(hostname)) setTimeout(() => one.end(), 20);
      return close;
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
    deadline: Date.now() + 20_000,
    ...owner,
  };
  lookup(hostname, { all: true, family }, whole, (error) => answered.push(error?.code ?? hostname));
}

const names = (): string[] => underway.map(({ hostname }) => hostname);
const many = (count: number, zone: string): string[] =>
  Array.from({ length: count }, (_, index) => `${index}.${zone}`);

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

async function end(hostname: string): Promise<void> {
  underway.find((one) => one.hostname === hostname)?.end();
  await settle();
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

describe('a lookup that is not answered', () => {
  test('is stopped after ten seconds, and its late answer changes nothing', () => {
    ask('dead.example', { deadline: Date.now() + 60_000 });
    const [late] = underway;
    jest.advanceTimersByTime(9_999);
    expect([answered, names()]).toEqual([[], ['dead.example']]);
    jest.advanceTimersByTime(2);
    expect([answered, names()]).toEqual([['EAI_AGAIN'], []]);
    late?.end();
    expect(answered).toEqual(['EAI_AGAIN']);
  });

  test('is stopped soon after the last deadline of those who wait', () => {
    ask('dead.example', { deadline: Date.now() + 2_000 });
    ask('dead.example', { deadline: Date.now() + 3_000 });
    jest.advanceTimersByTime(3_000);
    expect(answered).toEqual([]);
    jest.advanceTimersByTime(101);
    expect([answered, names()]).toEqual([['EAI_AGAIN', 'EAI_AGAIN'], []]);
  });

  test('does not fail by a timer that is late, before what has arrived is read', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    ask('shop.example');
    jest.advanceTimersByTime(10_000);
    // Sockets are read after the timers of a turn.
    underway[0]?.end();
    await new Promise(setImmediate);
    expect(answered).toEqual(['shop.example']);
  });

  test('has another second where the timer was late', () => {
    ask('shop.example');
    jest.setSystemTime(Date.now() + 5_000);
    jest.advanceTimersByTime(10_000);
    expect(answered).toEqual([]);
    underway[0]?.end();
    expect(answered).toEqual(['shop.example']);
  });
});

test('a lookup keeps its place until its last question has ended', async () => {
  for (const name of many(3, 'half')) ask(name, { resource: 'monitor' });
  expect(names()).toEqual(['0.half', '1.half']);
  for (const one of underway) one.answer();
  await settle();
  expect([answered, names()]).toEqual([
    ['0.half', '1.half'],
    ['0.half', '1.half'],
  ]);
  await end('0.half');
  expect(names()).toEqual(['1.half', '2.half']);
});

describe('names that hang, given by accounts', () => {
  /** Each monitor asks for its name every ten seconds, at a time of its own. */
  async function run(monitors: readonly (readonly [account: string, hostname: string])[]): Promise<void> {
    isAnswered = (hostname) => hostname.endsWith('ok');
    for (let ms = 0; ms < 30_000; ms += 50) {
      for (const [index, [account, hostname]] of monitors.entries())
        if ((index * 7_950) % 10_000 === ms % 10_000)
          ask(hostname, { account, deadline: Date.now() + 5_000 });
      jest.advanceTimersByTime(50);
      await settle();
    }
  }
  const of = (account: string, hostnames: readonly string[]): (readonly [string, string])[] =>
    hostnames.map((hostname) => [account, hostname]);
  const healthy = (): number => answered.filter((name) => name.endsWith('ok')).length;

  test('fail no other name of the same account, nor of another', async () => {
    const one = of('one', many(2_000, 'one.ok'));
    await run([...of('one', many(200, 'dead')), ...one, ...of('two', many(100, 'two.ok'))]);
    expect(healthy()).toBe(3 * 2_100);
  });

  test('of three accounts delay names of others by no more than a second', async () => {
    isAnswered = (hostname) => hostname.endsWith('ok');
    for (const account of ['one', 'two', 'three'])
      for (const name of many(300, `${account}.dead`)) ask(name, { account });
    ask('shop.ok', { account: 'four' });
    jest.advanceTimersByTime(1_001);
    await settle();
    jest.advanceTimersByTime(20);
    expect(answered).toContain('shop.ok');
  });

  test('do not delay names that were slow once', async () => {
    const dead = many(2_000, 'dead');
    // All of them fail once.
    for (let round = 0; round < 100; round += 1) {
      for (const name of dead.slice(round * 20, round * 20 + 20)) ask(name, { account: `${round}` });
      jest.advanceTimersByTime(10_000);
      await settle();
    }
    ask('shop.example', { account: 'one' });
    jest.advanceTimersByTime(2_000);
    await end('shop.example');
    for (const [index, name] of dead.entries()) ask(name, { account: `${index % 20}` });
    const before = names().length;
    ask('shop.example', { account: 'one' });
    expect(names().slice(before)).toEqual(['shop.example']);
  });
});

test('names that targets gave do not displace what is known of those that accounts gave', async () => {
  isAnswered = (hostname) => hostname.endsWith('ok');
  await makeFast('shop.example');
  for (let index = 0; index < 50_001; index += 1) {
    ask(`${index}.ok`, { account: `${index % 40}`, redirected: true });
    if (index % 40 === 0) jest.advanceTimersByTime(20);
  }
  for (const name of many(100, 'new')) ask(name);
  const before = names().length;
  ask('shop.example');
  expect(names().slice(before)).toEqual(['shop.example']);
});

describe('names of redirects that hang', () => {
  const redirected = (account: string): Partial<LookupOwner> => ({ account, redirected: true });

  test('take some places of their account, however many there are', () => {
    for (const name of many(500, 'dead')) ask(name, redirected('one'));
    const ofOne = names().length;
    expect(ofOne).toBe(200);
    for (const name of many(500, 'gone')) ask(name, redirected('two'));
    expect(names().filter((name) => name.endsWith('gone')).length).toBe(ofOne);
  });

  test('delay no name that an account gave, known or new', async () => {
    await makeFast('shop.example');
    for (let account = 0; account < 50; account += 1)
      for (const name of many(100, `dead-${account}`)) ask(name, redirected(`${account}`));
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
  const slow = ['0.slow', '1.slow'];
  const owner = { resource: 'monitor' };
  for (const name of slow) {
    ask(name);
    jest.advanceTimersByTime(2_000);
    await end(name);
  }
  for (const name of slow) ask(name, owner);
  expect(names()).toEqual(['0.slow']);
  await end('0.slow');
  expect(names()).toEqual(['1.slow']);
  ask('0.slow', owner);
  expect(names()).toEqual(['1.slow', '0.slow']);
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
  jest.advanceTimersByTime(600);
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
