import type { LookupAddress } from 'node:dns';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createFairLookup, type LookupOwner, type OwnedLookup } from './fair-lookup.ts';
import type { StartLookup } from './name-resolver.ts';

const ADDRESS: LookupAddress = { address: '192.0.2.1', family: 4 };

/** A lookup in progress, which ends when the test ends it. */
interface Underway {
  readonly hostname: string;
  /** Reports the result while some queries have no response. */
  respond(): void;
  end(error?: NodeJS.ErrnoException): void;
  retry(inMs: number, error?: unknown): void;
}

/** Lookups in progress, in the order in which they began. */
let underway: Underway[];
/** Names whose queries were repeated, in order. */
let repeated: string[];
/** Names with pending queries in a forwarder, which keeps unanswered queries for 10 s. */
let kept: string[];
/** Results in order, each as the name or the error code. */
let results: string[];
let failed: string[];
/** Milliseconds until a lookup of a name ends by itself. Null if the test ends it. */
let respondsAfterMs: (hostname: string) => number | null;
let lookup: OwnedLookup;
beforeEach(() => {
  jest.useFakeTimers();
  underway = [];
  repeated = [];
  kept = [];
  results = [];
  failed = [];
  respondsAfterMs = () => null;
  lookup = createFairLookup(startLookup, () => Date.now());
});
afterEach(() => {
  jest.useRealTimers();
});

const startLookup: StartLookup = (hostname, _options, events) => {
  const startedAt = Date.now();
  const close = (allResponded: boolean): void => {
    underway = underway.filter((other) => other !== one);
    const keptForMs = allResponded ? 0 : startedAt + 10_000 - Date.now();
    if (keptForMs <= 0) unkeep();
    else setTimeout(unkeep, keptForMs);
    events.onEnd(allResponded);
  };
  const unkeep = (): void => void kept.splice(kept.indexOf(hostname), 1);
  const one: Underway = {
    hostname,
    respond: () => events.onResult(null, [ADDRESS]),
    end: (error) => {
      events.onResult(error ?? null, error ? [] : [ADDRESS]);
      close(true);
    },
    retry: (inMs, error) => events.onRetry(inMs, error),
  };
  underway.push(one);
  kept.push(hostname);
  const afterMs = respondsAfterMs(hostname);
  const timer = afterMs === null ? undefined : setTimeout(() => one.end(), afterMs);
  return {
    repeat: () => repeated.push(hostname),
    stop: () => {
      clearTimeout(timer);
      close(false);
    },
  };
};

function ask(hostname: string, changes: Partial<LookupOwner> = {}, family = 0): void {
  const owner = { account: 'one', resource: hostname, redirected: false, deadline: Date.now() + 20_000 };
  lookup(hostname, { all: true, family }, { ...owner, ...changes }, (error) => {
    if (error) failed.push(hostname);
    results.push(error?.code ?? hostname);
  });
}

const names = (): string[] => underway.map(({ hostname }) => hostname);

async function end(hostname: string): Promise<void> {
  underway.find((one) => one.hostname === hostname)?.end();
  await settle();
}

/** Lets pending promises continue. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

/** Makes the name known to the account. */
async function makeKnown(hostname: string): Promise<void> {
  ask(hostname);
  await end(hostname);
  results = [];
}

const many = (count: number, zone: string): string[] =>
  Array.from({ length: count }, (_, index) => `${index}.${zone}`);

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
  const fail: StartLookup = () => {
    begins += 1;
    throw new Error('too many open files');
  };
  const broken = createFairLookup(fail, () => Date.now());
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

  test("is stopped soon after its callers' last deadline", () => {
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

test('callers whose deadline is before the next query fail as soon as the servers fail, and all learn why', () => {
  const causes: unknown[] = [];
  const onRetry = (cause: unknown): void => void causes.push(cause);
  ask('broken.example', { deadline: Date.now() + 1_500 });
  ask('broken.example', { deadline: Date.now() + 60_000, onRetry });
  underway[0]?.retry(1_000, 'refused');
  expect(results).toEqual([]);
  ask('broken.example', { deadline: Date.now() + 60_000, onRetry });
  underway[0]?.retry(2_000, 'no file');
  expect([results, names()]).toEqual([['EAI_AGAIN'], ['broken.example']]);
  expect(causes).toEqual(['refused', 'refused', 'no file', 'no file']);
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
  await run(2_000, 2_000, of('one', many(1_666, 'new')), 5_000);
  jest.advanceTimersByTime(1_000);
  expect(failed).toEqual([]);
  expect(results.length).toBeGreaterThan(1_600);
});

test('names that resolved do not wait when the servers are slow', async () => {
  respondsAfterMs = () => 20;
  const monitors = of('one', many(1_500, 'shop'));
  await run(3_100, 3_000, monitors, 5_000);
  respondsAfterMs = () => 1_200;
  results = [];
  await run(6_000, 3_000, monitors, 5_000);
  jest.advanceTimersByTime(2_000);
  expect(failed).toEqual([]);
  expect(results.length).toBeGreaterThan(2_900);
});

describe('hanging names from accounts', () => {
  const healthyFailed = (): readonly string[] => failed.filter((name) => name.endsWith('ok'));

  test('do not fail names that resolved, or names of other accounts', async () => {
    respondsAfterMs = okNames;
    const one = of('one', many(400, 'one.ok'));
    const dead = of('one', many(100, 'dead'));
    await run(5_100, 5_000, one, 5_000);
    await run(15_000, 5_000, [...dead, ...one, ...of('two', many(50, 'two.ok'))], 5_000);
    expect(healthyFailed()).toEqual([]);
  });

  test('do not starve other new names of the same account', async () => {
    respondsAfterMs = okNames;
    const dead = of('one', many(100, 'dead'));
    const one = of('one', many(300, 'one.ok'));
    await run(40_000, 10_000, [...dead, ...one], 5_000);
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
    ['of redirects with a short timeout', true, 500],
  ])('never keep a forwarder busy with more than 55 of them: %s', async (_, redirected, timeoutMs) => {
    let most = 0;
    for (let round = 0; round < 150; round += 1) {
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

describe('hanging names of redirects', () => {
  const redirected = (account: string): Partial<LookupOwner> => ({ account, redirected: true });

  test("take a limited number of their account's permits", () => {
    for (const name of many(500, 'dead')) ask(name, redirected('one'));
    const ofOne = names().length;
    expect(ofOne).toBe(30);
    for (const name of many(500, 'gone')) ask(name, redirected('two'));
    expect(names().filter((name) => name.endsWith('gone')).length).toBe(ofOne);
  });

  test('do not delay names from the account, known or new, and known names of redirects', async () => {
    await makeKnown('shop.example');
    await makeKnown('cdn.example');
    for (let account = 0; account < 50; account += 1)
      for (const name of many(100, `dead-${account}`)) ask(name, redirected(`${account}`));
    const before = names().length;
    ask('shop.example');
    ask('new.example');
    ask('cdn.example', redirected('one'));
    expect(names().slice(before)).toEqual(['shop.example', 'new.example', 'cdn.example']);
  });

  test('of one monitor are looked up one at a time', async () => {
    const owner = { ...redirected('one'), resource: 'monitor' };
    for (const name of many(3, 'dead')) ask(name, owner);
    expect(names()).toEqual(['0.dead']);
    await end('0.dead');
    expect(names()).toEqual(['1.dead']);
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
