import type { LookupAddress } from 'node:dns';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createFairLookup, type LookupOwner, type OwnedLookup } from './fair-lookup.ts';
import type { StartLookup } from './name-resolver.ts';
import { ServerLoad } from './server-load.ts';

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
let load: ServerLoad;
let lookup: OwnedLookup;
beforeEach(() => {
  jest.useFakeTimers();
  underway = [];
  repeated = [];
  kept = [];
  results = [];
  failed = [];
  respondsAfterMs = () => null;
  load = new ServerLoad(() => Date.now());
  lookup = createFairLookup(startLookup, () => Date.now(), load);
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

async function ask(hostname: string, changes: Partial<LookupOwner> = {}, family = 0): Promise<void> {
  const owner = { account: 'one', resource: hostname, isRedirected: false, deadline: Date.now() + 20_000 };
  lookup(hostname, { all: true, family }, { ...owner, ...changes }, (error) => {
    if (error) failed.push(hostname);
    results.push(error?.code ?? hostname);
  });
  await settle();
}

/** Whether the last lookup with `onWaiting` waits because of other lookups. */
let isOwnFault: () => boolean;
const onWaiting = (given: () => boolean): void => void (isOwnFault = given);

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
  await ask(hostname);
  await end(hostname);
  results = [];
}

const many = (count: number, zone: string): string[] =>
  Array.from({ length: count }, (_, index) => `${index}.${zone}`);

test('concurrent callers of an account share one lookup of a name, and later callers start another one', async () => {
  for (let count = 0; count < 3; count += 1) await ask('shop.example', { resource: `${count}` });
  await ask('shop.example', {}, 6);
  await ask('shop.example', { account: 'two' });
  expect(names()).toEqual(['shop.example', 'shop.example', 'shop.example']);
  for (const one of underway.slice(0)) one.end();
  expect(results).toEqual(Array<string>(5).fill('shop.example'));
  await ask('shop.example');
  expect(names()).toEqual(['shop.example']);
});

test('a lookup that cannot begin fails and releases its permit', async () => {
  let begins = 0;
  const fail: StartLookup = () => {
    begins += 1;
    throw new Error('too many open files');
  };
  const broken = createFairLookup(fail, () => Date.now(), load);
  const codes: unknown[] = [];
  for (let count = 0; count < 100; count += 1) {
    const owner = { account: 'one', resource: 'shop', isRedirected: true, deadline: Date.now() + 20_000 };
    broken('shop.example', { all: true }, owner, (error) => codes.push(error?.code));
  }
  await settle();
  expect([begins, new Set(codes), codes.length]).toEqual([100, new Set(['EAI_AGAIN']), 100]);
  expect(load.newNames.used).toBe(0);
});

describe('a lookup without a response', () => {
  test('is stopped after ten seconds, and a late response has no effect', async () => {
    await ask('dead.example', { deadline: Date.now() + 60_000 });
    const [late] = underway;
    jest.advanceTimersByTime(9_999);
    expect([results, names()]).toEqual([[], ['dead.example']]);
    jest.advanceTimersByTime(2);
    expect([results, names()]).toEqual([['EAI_AGAIN'], []]);
    late?.end();
    expect(results).toEqual(['EAI_AGAIN']);
  });

  test("is stopped soon after its callers' last deadline", async () => {
    await ask('dead.example', { deadline: Date.now() + 2_000 });
    await ask('dead.example', { deadline: Date.now() + 3_000 });
    jest.advanceTimersByTime(3_000);
    expect([results, names()]).toEqual([['EAI_AGAIN'], ['dead.example']]);
    jest.advanceTimersByTime(101);
    expect([results, names()]).toEqual([['EAI_AGAIN', 'EAI_AGAIN'], []]);
  });

  test('does not fail when its timer is late before received responses are read', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    await ask('shop.example');
    jest.advanceTimersByTime(10_000);
    // Sockets are read after the timers of a turn.
    underway[0]?.end();
    await new Promise(setImmediate);
    expect(results).toEqual(['shop.example']);
  });

  test('gets another second if the timer was late', async () => {
    await ask('shop.example');
    jest.setSystemTime(Date.now() + 5_000);
    jest.advanceTimersByTime(10_000);
    expect(results).toEqual([]);
    underway[0]?.end();
    expect(results).toEqual(['shop.example']);
  });
});

test('a lookup keeps its permit for 200 ms and until its last query has ended', async () => {
  await ask('quick.example');
  await end('quick.example');
  jest.advanceTimersByTime(199);
  expect(load.newNames.used).toBe(1);
  jest.advanceTimersByTime(1);
  results = [];
  await ask('half.example');
  underway[0]?.respond();
  jest.advanceTimersByTime(200);
  expect([results, load.newNames.used]).toEqual([['half.example'], 1]);
  await end('half.example');
  expect(load.newNames.used).toBe(0);
});

test('a lookup without a response keeps its permit as long as a forwarder keeps its queries', async () => {
  await ask('dead.example', { deadline: Date.now() + 500 });
  jest.advanceTimersByTime(9_999);
  expect([results, load.newNames.used]).toEqual([['EAI_AGAIN'], 1]);
  jest.advanceTimersByTime(1);
  expect(load.newNames.used).toBe(0);
});

describe('a caller that joins a hanging lookup', () => {
  const late = { deadline: 60_000 };
  beforeEach(() => jest.setSystemTime(0));

  test('repeats the query immediately and gets the full time', async () => {
    await ask('shop.example', late);
    jest.advanceTimersByTime(7_700);
    await ask('shop.example', late);
    expect(repeated).toEqual(['shop.example']);
    jest.advanceTimersByTime(2_301);
    expect(results).toEqual(['EAI_AGAIN']);
    underway[0]?.end();
    expect(results).toEqual(['EAI_AGAIN', 'shop.example']);
  });

  test('repeats the query only if the last one is a second old', async () => {
    for (let count = 0; count < 4; count += 1) {
      await ask('shop.example', late);
      jest.advanceTimersByTime(600);
    }
    expect(repeated).toEqual(['shop.example']);
  });

  test('does not fail when the time of earlier callers is over', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'], now: 0 });
    await ask('shop.example', late);
    jest.advanceTimersByTime(10_000);
    await ask('shop.example', late);
    await new Promise(setImmediate);
    expect(results).toEqual(['EAI_AGAIN']);
    underway[0]?.end();
    expect(results).toEqual(['EAI_AGAIN', 'shop.example']);
  });
});

test('callers whose deadline is before the next query fail as soon as the servers fail, and all learn why', async () => {
  const causes: unknown[] = [];
  const onRetry = (cause: unknown): void => void causes.push(cause);
  await ask('broken.example', { deadline: Date.now() + 1_500 });
  await ask('broken.example', { deadline: Date.now() + 60_000, onRetry });
  underway[0]?.retry(1_000, 'failed');
  expect(results).toEqual([]);
  await ask('broken.example', { deadline: Date.now() + 60_000, onRetry });
  underway[0]?.retry(2_000, 'no file');
  expect([results, names()]).toEqual([['EAI_AGAIN'], ['broken.example']]);
  expect(causes).toEqual(['failed', 'failed', 'no file', 'no file']);
});

test('a lookup that cannot begin before its deadline fails and reports to its owner that it waited', async () => {
  const begun: number[] = [];
  load.newNames.setCapacity(1);
  await ask('dead.example');
  await ask('late.example', { deadline: Date.now() + 1_500, onWaiting });
  await ask('next.example', { onBegin: (waitedMs) => begun.push(waitedMs) });
  jest.advanceTimersByTime(600);
  await settle();
  expect(results).toEqual(['EAI_AGAIN']);
  await end('dead.example');
  expect([names(), begun, isOwnFault()]).toEqual([['next.example'], [600], true]);
});

test('a lookup with little time left waits for a quarter of it', async () => {
  load.newNames.setCapacity(1);
  await ask('shop.example');
  await ask('next.example', { deadline: Date.now() + 1_000 });
  jest.advanceTimersByTime(249);
  await end('shop.example');
  expect(names()).toEqual(['next.example']);
});

test('a waiting caller shares a lookup of the same name that has begun in the meantime', async () => {
  load.newNames.setCapacity(1);
  await ask('dead.example');
  await ask('shop.example');
  await ask('shop.example');
  load.newNames.setCapacity(3);
  await settle();
  expect([names(), load.newNames.used]).toEqual([['dead.example', 'shop.example'], 2]);
  await end('shop.example');
  expect(results).toEqual(['shop.example', 'shop.example']);
});

test('waiting lookups of several monitors take turns', async () => {
  load.newNames.setCapacity(1);
  for (const name of many(3, 'dead')) await ask(name, { resource: 'monitor' });
  await ask('shop.example');
  await end('0.dead');
  expect(names()).toEqual(['1.dead', 'shop.example', '2.dead']);
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
      void ask(hostname, { account, deadline: Date.now() + timeoutMs });
    }
    jest.advanceTimersByTime(10);
    await settle();
  }
}
const of = (account: string, hostnames: readonly string[]): (readonly [string, string])[] =>
  hostnames.map((hostname) => [account, hostname]);
const okNames = (hostname: string): number | null => (hostname.endsWith('ok') ? 20 : null);

test('a single account can look up 10,000 new names at once', async () => {
  respondsAfterMs = () => 50;
  for (const name of many(10_000, 'new')) void ask(name);
  for (let ms = 0; ms < 2_000; ms += 10) {
    jest.advanceTimersByTime(10);
    await settle();
  }
  expect([results.length, failed]).toEqual([10_000, []]);
});

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

  test('of three accounts do not delay names of another account', async () => {
    load.newNames.setCapacity(60);
    for (const account of ['one', 'two', 'three'])
      for (const name of many(300, `${account}.dead`)) await ask(name, { account });
    await ask('shop.ok', { account: 'four' });
    expect(names().filter((name) => name.startsWith('0.') || name === 'shop.ok')).toEqual([
      '0.one.dead',
      '0.two.dead',
      '0.three.dead',
      'shop.ok',
    ]);
    expect(load.newNames.used).toBeLessThan(120);
  });

  test('do not delay names that resolved, also those of redirects', async () => {
    await makeKnown('shop.example');
    await makeKnown('cdn.example');
    jest.advanceTimersByTime(200);
    load.newNames.setCapacity(50);
    for (const name of many(100, 'dead')) await ask(name);
    await ask('shop.example');
    await ask('cdn.example', { isRedirected: true });
    expect(names().slice(50)).toEqual(['shop.example', 'cdn.example']);
  });
});

test('a name that does not resolve any more waits with others', async () => {
  await makeKnown('shop.example');
  load.newNames.setCapacity(0);
  await ask('shop.example');
  underway[0]?.end(Object.assign(new Error('gone'), { code: 'ENOTFOUND' }));
  await ask('shop.example');
  expect([results, names()]).toEqual([['ENOTFOUND'], []]);
});

describe('name servers that refuse', () => {
  const REFUSAL = Object.assign(new Error('refused'), { code: 'EREFUSED' });

  /** Refuses queries while it waits for responses to 75 names, and the lookup queries it again. */
  const queryForwarder: StartLookup = (hostname, options, events) => {
    let running: ReturnType<StartLookup> | undefined;
    let timer: NodeJS.Timeout;
    const query = (pauseMs: number): void => {
      if (kept.length < 75) {
        running = startLookup(hostname, options, events);
        return;
      }
      timer = setTimeout(query, pauseMs, Math.min(2 * pauseMs, 2_000));
      events.onRetry(pauseMs, REFUSAL);
    };
    timer = setTimeout(query, 1, 250);
    return {
      repeat: () => undefined,
      stop: () => {
        clearTimeout(timer);
        if (running === undefined) events.onEnd(true);
        else running.stop();
      },
    };
  };

  test('get fewer lookups, and names that resolved keep their addresses', async () => {
    lookup = createFairLookup(queryForwarder, () => Date.now(), load);
    respondsAfterMs = okNames;
    const two = of('two', many(50, 'two.ok'));
    const dead = of('one', many(1_000, 'dead'));
    await run(5_100, 5_000, two, 5_000);
    results = [];
    await run(10_000, 10_000, [...dead, ...two], 5_000);
    expect(load.newNames.used).toBeLessThan(150);
    await run(20_000, 10_000, [...dead, ...two, ...of('three', many(50, 'three.ok'))], 5_000);
    expect(failed.filter((name) => name.endsWith('ok'))).toEqual([]);
    expect(results.filter((name) => name.endsWith('ok')).length).toBeGreaterThanOrEqual(230);
    expect(load.newNames.used).toBeGreaterThanOrEqual(50);
  });

  test('or hang because of lookups of this process say nothing about a name', async () => {
    await makeKnown('shop.example');
    load.note('one', 'bad', 50);
    await ask('quick.example', { deadline: Date.now() + 1_000, onWaiting });
    expect(isOwnFault()).toBe(false);
    jest.advanceTimersByTime(500);
    load.note('one', null, 50);
    expect(isOwnFault()).toBe(true);
    await end('quick.example');
    expect(isOwnFault()).toBe(false);
    results = [];
    await ask('shop.example');
    underway[0]?.retry(250, REFUSAL);
    expect([results, names()]).toEqual([['shop.example'], []]);
    await ask('new.example', { deadline: Date.now() + 1_000, onWaiting });
    underway[0]?.retry(1_000, REFUSAL);
    expect([failed, isOwnFault()]).toEqual([['new.example'], true]);
    results = [];
    await ask('shop.example');
    jest.advanceTimersByTime(1_001);
    await settle();
    expect(results).toEqual(['shop.example']);
  });

  test('fail a name if few lookups are running', async () => {
    await makeKnown('shop.example');
    await ask('shop.example', { deadline: Date.now() + 1_000, onWaiting });
    jest.advanceTimersByTime(300);
    underway[0]?.retry(1_000, REFUSAL);
    expect([results, isOwnFault()]).toEqual([['EAI_AGAIN'], false]);
  });
});

describe('a name server that drops queries above a rate', () => {
  const MAX_PER_SECOND = 512;
  const inSecond = new Map<number, number>();

  /** Repeats the query every second until the server accepts it. */
  const queryLimited: StartLookup = (hostname, options, events) => {
    let running: ReturnType<StartLookup> | undefined;
    let timer: NodeJS.Timeout;
    const query = (): void => {
      const second = Math.floor(Date.now() / 1_000);
      const accepted = inSecond.get(second) ?? 0;
      if (accepted < MAX_PER_SECOND) {
        inSecond.set(second, accepted + 1);
        running = startLookup(hostname, options, events);
      } else timer = setTimeout(query, 1_000);
    };
    query();
    return {
      repeat: () => undefined,
      stop: () => {
        clearTimeout(timer);
        if (running === undefined) events.onEnd(false);
        else running.stop();
      },
    };
  };

  test.each(['alive', 'dead'])(
    'fails no lookup of an account while another floods it with %s names',
    async (flood) => {
      inSecond.clear();
      jest.setSystemTime(0);
      lookup = createFairLookup(queryLimited, () => Date.now(), load);
      respondsAfterMs = (hostname) => (hostname.endsWith('dead') ? null : 2);
      const falselyDown: string[] = [];
      const check = (hostname: string): void => {
        let isExcused = (): boolean => false;
        let isOver = false;
        const deadline = Date.now() + 1_000;
        const owner = { account: 'two', resource: hostname, isRedirected: false, deadline };
        // Like a probe, looks at its deadline whether others are at fault.
        setTimeout(() => {
          if (!isOver && !isExcused()) falselyDown.push(hostname);
        }, 1_000);
        lookup(hostname, { all: true }, { ...owner, onWaiting: (given) => (isExcused = given) }, (error) => {
          isOver = true;
          if (error !== null && !isExcused()) falselyDown.push(hostname);
        });
      };
      for (let ms = 0; ms < 35_000; ms += 20) {
        if (ms % 1_000 === 0) for (const name of many(1_000, flood)) void ask(`${ms}.${name}`);
        if (ms % 60 === 0) check(`${ms % 3_000}.two`);
        jest.advanceTimersByTime(20);
        await settle();
      }
      expect(falselyDown).toEqual([]);
    },
  );
});
