import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createTestLookup, many, settle, type TestLookup } from '../testing/test-lookup.ts';
import { createFairLookup, type LookupOwner } from './fair-lookup.ts';

let underway: TestLookup['underway'];
let repeated: TestLookup['repeated'];
let ask: TestLookup['ask'];
let names: TestLookup['names'];
let end: TestLookup['end'];
/** The results in order: the name, or the code of the error. */
let results: string[];
beforeEach(() => {
  jest.useFakeTimers();
  results = [];
  ({ underway, repeated, ask, names, end } = createTestLookup({
    onResult: (hostname, error) => results.push(error?.code ?? hostname),
  }));
});
afterEach(() => {
  jest.useRealTimers();
});

test('concurrent callers share one lookup of a name, and later callers start another one', async () => {
  for (let count = 0; count < 3; count += 1) ask('shop.example', { account: `${count}` });
  ask('shop.example', { resource: 'other' }, 6);
  expect(names()).toEqual(['shop.example', 'shop.example']);
  for (const one of underway.slice(0)) one.end();
  expect(results).toEqual(Array<string>(4).fill('shop.example'));
  ask('shop.example');
  expect(names()).toEqual(['shop.example']);
});

test('a lookup that cannot begin fails and releases its permit', () => {
  let begins = 0;
  const broken = createFairLookup({
    now: () => Date.now(),
    lookup: () => {
      begins += 1;
      throw new Error('too many open files');
    },
  });
  const codes: unknown[] = [];
  for (let count = 0; count < 100; count += 1) {
    const owner = { account: 'one', resource: 'shop', redirected: true, deadline: Date.now() + 20_000 };
    broken('shop.example', { all: true }, owner, (error) => codes.push(error?.code));
  }
  expect([begins, new Set(codes), codes.length]).toEqual([100, new Set(['EAI_AGAIN']), 100]);
});

describe('a lookup without a response', () => {
  test('is stopped after ten seconds, and a late response has no effect', () => {
    ask('dead.example', { deadline: Date.now() + 60_000 });
    const [late] = underway;
    jest.advanceTimersByTime(9_999);
    expect([results, names()]).toEqual([[], ['dead.example']]);
    jest.advanceTimersByTime(2);
    expect([results, names()]).toEqual([['EAI_AGAIN'], []]);
    late?.end();
    expect(results).toEqual(['EAI_AGAIN']);
  });

  test('is stopped soon after the last deadline of its callers', () => {
    ask('dead.example', { deadline: Date.now() + 2_000 });
    ask('dead.example', { deadline: Date.now() + 3_000 });
    jest.advanceTimersByTime(3_000);
    expect([results, names()]).toEqual([['EAI_AGAIN'], ['dead.example']]);
    jest.advanceTimersByTime(101);
    expect([results, names()]).toEqual([['EAI_AGAIN', 'EAI_AGAIN'], []]);
  });

  test('does not fail when its timer is late before received responses are read', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    ask('shop.example');
    jest.advanceTimersByTime(10_000);
    // Sockets are read after the timers of a turn.
    underway[0]?.end();
    await new Promise(setImmediate);
    expect(results).toEqual(['shop.example']);
  });

  test('gets another second if the timer was late', () => {
    ask('shop.example');
    jest.setSystemTime(Date.now() + 5_000);
    jest.advanceTimersByTime(10_000);
    expect(results).toEqual([]);
    underway[0]?.end();
    expect(results).toEqual(['shop.example']);
  });
});

test('a lookup keeps its permit until its last query has ended', async () => {
  for (const name of many(2, 'half')) ask(name, { resource: 'monitor' });
  expect(names()).toEqual(['0.half']);
  underway[0]?.respond();
  await settle();
  expect([results, names()]).toEqual([['0.half'], ['0.half']]);
  await end('0.half');
  expect(names()).toEqual(['1.half']);
});

describe('a caller that joins a hanging lookup', () => {
  const late = { deadline: 60_000 };
  beforeEach(() => jest.setSystemTime(0));

  test('repeats the query immediately and gets the full time', () => {
    ask('shop.example', late);
    jest.advanceTimersByTime(7_700);
    ask('shop.example', late);
    expect(repeated).toEqual(['shop.example']);
    jest.advanceTimersByTime(2_301);
    expect(results).toEqual(['EAI_AGAIN']);
    underway[0]?.end();
    expect(results).toEqual(['EAI_AGAIN', 'shop.example']);
  });

  test('repeats the query only if the last one is a second old', () => {
    for (let count = 0; count < 4; count += 1) {
      ask('shop.example', late);
      jest.advanceTimersByTime(600);
    }
    expect(repeated).toEqual(['shop.example']);
  });

  test('does not fail when the time of earlier callers is over', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'], now: 0 });
    ask('shop.example', late);
    jest.advanceTimersByTime(10_000);
    ask('shop.example', late);
    await new Promise(setImmediate);
    expect(results).toEqual(['EAI_AGAIN']);
    underway[0]?.end();
    expect(results).toEqual(['EAI_AGAIN', 'shop.example']);
  });
});

test('callers whose deadline is before the next query fail as soon as the servers fail', () => {
  ask('broken.example', { deadline: Date.now() + 1_500 });
  ask('broken.example', { deadline: Date.now() + 60_000 });
  underway[0]?.retry(1_000);
  expect(results).toEqual([]);
  underway[0]?.retry(2_000);
  expect([results, names()]).toEqual([['EAI_AGAIN'], ['broken.example']]);
});

test('a lookup that cannot begin before its deadline fails and reports to its owner that it waited', async () => {
  const waits: string[] = [];
  const owner = (name: string, deadline: number): Partial<LookupOwner> => ({
    resource: 'monitor',
    redirected: true,
    deadline: Date.now() + deadline,
    onWaiting: (isWaiting) => waits.push(`${name} ${isWaiting}`),
  });
  ask('dead.example', owner('dead', 20_000));
  ask('late.example', owner('late', 1_500));
  ask('next.example', owner('next', 20_000));
  jest.advanceTimersByTime(600);
  await end('');
  expect(results).toEqual(['EAI_AGAIN']);
  await end('dead.example');
  expect(names()).toEqual(['next.example']);
  expect(waits).toEqual(['late true', 'next true', 'next false']);
});

test('a waiting caller shares a lookup of the same name that has begun in the meantime', async () => {
  const owner = { resource: 'monitor', redirected: true };
  ask('dead.example', owner);
  ask('shop.example', owner);
  ask('shop.example', { account: 'two' });
  await end('dead.example');
  expect(names()).toEqual(['shop.example']);
  await end('shop.example');
  expect(results).toEqual(['dead.example', 'shop.example', 'shop.example']);
});
