import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createTestLookup, many, settle, type TestLookup } from '../testing/test-lookup.ts';
import type { LookupOwner } from './fair-lookup.ts';

let kept: TestLookup['kept'];
let ask: TestLookup['ask'];
let names: TestLookup['names'];
let end: TestLookup['end'];
/** After how many milliseconds a lookup of a name ends without the test. Null: it does not. */
let respondsAfterMs: (hostname: string) => number | null;
/** The results in order: the name, or the code of the error. */
let results: string[];
/** The names that failed, in order. */
let failed: string[];
beforeEach(() => {
  jest.useFakeTimers();
  results = [];
  failed = [];
  respondsAfterMs = () => null;
  ({ kept, ask, names, end } = createTestLookup({
    respondsAfterMs: (hostname) => respondsAfterMs(hostname),
    onResult: (hostname, error) => {
      if (error) failed.push(hostname);
      results.push(error?.code ?? hostname);
    },
  }));
});
afterEach(() => {
  jest.useRealTimers();
});

/** Makes the name one that resolved for the account. */
async function makeKnown(hostname: string): Promise<void> {
  ask(hostname);
  await end(hostname);
  results = [];
}

/** Advances the clock and looks these names up, spread evenly over each period. */
async function run(
  forMs: number,
  periodMs: number,
  monitors: readonly (readonly [account: string, hostname: string])[],
  timeoutMs: number,
): Promise<void> {
  let asked = 0;
  for (let ms = 0; ms < forMs; ms += 10) {
    for (; asked * periodMs < ms * monitors.length; asked += 1) {
      const [account, hostname] = monitors[asked % monitors.length] ?? ['', ''];
      ask(hostname, { account, deadline: Date.now() + timeoutMs });
    }
    jest.advanceTimersByTime(10);
    await settle();
  }
}
const of = (account: string, hostnames: readonly string[]): (readonly [string, string])[] =>
  hostnames.map((hostname) => [account, hostname]);
const okNames = (hostname: string): number | null => (hostname.endsWith('ok') ? 20 : null);

test('a single account can look up 833 new names per second', async () => {
  respondsAfterMs = () => 60;
  const names = many(8_330, 'new');
  await run(10_000, 10_000, of('one', names), 5_000);
  jest.advanceTimersByTime(1_000);
  expect(failed).toEqual([]);
  expect(results.length).toBeGreaterThan(8_300);
});

test('names that resolved do not wait when the servers are slow', async () => {
  respondsAfterMs = () => 20;
  const monitors = of('one', many(5_000, 'shop'));
  await run(10_100, 10_000, monitors, 5_000);
  respondsAfterMs = () => 1_200;
  results = [];
  await run(20_000, 10_000, monitors, 5_000);
  jest.advanceTimersByTime(2_000);
  expect(failed).toEqual([]);
  expect(results.length).toBeGreaterThan(9_900);
});

describe('hanging names from accounts', () => {
  const healthyFailed = (): readonly string[] => failed.filter((name) => name.endsWith('ok'));

  test('do not fail names that resolved, or names of other accounts', async () => {
    respondsAfterMs = okNames;
    const one = of('one', many(2_000, 'one.ok'));
    await run(10_100, 10_000, one, 5_000);
    await run(
      30_000,
      10_000,
      [...of('one', many(200, 'dead')), ...one, ...of('two', many(100, 'two.ok'))],
      5_000,
    );
    expect(healthyFailed()).toEqual([]);
  });

  test('do not starve other new names of the same account', async () => {
    respondsAfterMs = okNames;
    const dead = of('one', many(100, 'dead'));
    const one = of('one', many(1_000, 'one.ok'));
    await run(60_000, 10_000, [...dead, ...one], 5_000);
    failed = [];
    await run(10_000, 10_000, [...dead, ...one], 5_000);
    expect(failed.length).toBeGreaterThan(0);
    expect(healthyFailed()).toEqual([]);
  });

  test('of three accounts delay names of others by a second at most', async () => {
    respondsAfterMs = okNames;
    for (const account of ['one', 'two', 'three'])
      for (const name of many(300, `${account}.dead`)) ask(name, { account });
    ask('shop.ok', { account: 'four' });
    jest.advanceTimersByTime(1_001);
    await settle();
    jest.advanceTimersByTime(20);
    expect(results).toContain('shop.ok');
  });

  test.each([
    ['of the account', false, 30_000],
    ['of redirects', true, 30_000],
    ['of the account with a short timeout', false, 500],
    ['of redirects with a short timeout', true, 500],
  ])('never keep a forwarder busy with more than 55 of them: %s', async (_, redirected, timeoutMs) => {
    let most = 0;
    for (let round = 0; round < 300; round += 1) {
      for (const name of many(20, `${round}.dead`))
        ask(name, { redirected: redirected || round % 2 === 0, deadline: Date.now() + timeoutMs });
      jest.advanceTimersByTime(100);
      await settle();
      most = Math.max(most, kept.length);
    }
    expect(most).toBeGreaterThanOrEqual(30);
    expect(most).toBeLessThanOrEqual(55);
  });
});

test('the names of one account do not replace those of another', async () => {
  respondsAfterMs = okNames;
  await makeKnown('shop.example');
  for (let index = 0; index < 50_001; index += 1) {
    ask(`${index}.ok`, { account: 'two' });
    if (index % 20 > 0) continue;
    jest.advanceTimersByTime(20);
    await settle();
  }
  for (const name of many(100, 'new')) ask(name);
  const before = names().length;
  ask('shop.example');
  expect(names().slice(before)).toEqual(['shop.example']);
});

test('names from targets do not replace known names from accounts', async () => {
  respondsAfterMs = okNames;
  await makeKnown('shop.example');
  for (let index = 0; index < 50_001; index += 1) {
    ask(`${index}.ok`, { account: `${index % 40}`, redirected: true });
    if (index % 40 === 0) jest.advanceTimersByTime(20);
  }
  for (const name of many(100, 'new')) ask(name);
  const before = names().length;
  ask('shop.example');
  expect(names().slice(before)).toEqual(['shop.example']);
});

describe('hanging names of redirects', () => {
  const redirected = (account: string): Partial<LookupOwner> => ({ account, redirected: true });

  test('take a limited number of the permits of their account', () => {
    for (const name of many(500, 'dead')) ask(name, redirected('one'));
    const ofOne = names().length;
    expect(ofOne).toBe(30);
    for (const name of many(500, 'gone')) ask(name, redirected('two'));
    expect(names().filter((name) => name.endsWith('gone')).length).toBe(ofOne);
  });

  test('do not delay names from the account, known or new', async () => {
    await makeKnown('shop.example');
    for (let account = 0; account < 50; account += 1)
      for (const name of many(100, `dead-${account}`)) ask(name, redirected(`${account}`));
    const before = names().length;
    ask('shop.example');
    ask('new.example');
    expect(names().slice(before)).toEqual(['shop.example', 'new.example']);
  });

  test('of one monitor are looked up one at a time', async () => {
    const owner = { ...redirected('one'), resource: 'monitor' };
    for (const name of many(3, 'dead')) ask(name, owner);
    expect(names()).toEqual(['0.dead']);
    await end('0.dead');
    expect(names()).toEqual(['1.dead']);
  });

  test('do not wait after they have resolved', async () => {
    await makeKnown('cdn.example');
    for (const name of many(100, 'dead')) ask(name, redirected('one'));
    const before = names().length;
    ask('cdn.example', redirected('one'));
    expect(names().slice(before)).toEqual(['cdn.example']);
  });
});

test('a name that did not resolve waits with other suspect names until it resolves again', async () => {
  const owner = { resource: 'monitor' };
  for (const name of ['0.dead', '1.dead']) ask(name, { deadline: Date.now() + 2_000 });
  jest.advanceTimersByTime(12_000);
  for (const name of ['0.dead', '1.dead']) ask(name, owner);
  expect(names()).toEqual(['0.dead']);
  await end('0.dead');
  expect(names()).toEqual(['1.dead']);
  ask('0.dead', owner);
  expect(names()).toEqual(['1.dead', '0.dead']);
});

test('a slow name does not wait', async () => {
  await makeKnown('shop.example');
  ask('shop.example');
  jest.advanceTimersByTime(2_000);
  await end('shop.example');
  for (const name of many(100, 'dead')) ask(name, { redirected: true });
  ask('shop.example');
  expect(names()).toContain('shop.example');
});

test('new names of one account leave room for those of another', () => {
  for (const name of many(500, 'new')) ask(name);
  ask('shop.example', { account: 'two' });
  expect(names()).toContain('shop.example');
});
