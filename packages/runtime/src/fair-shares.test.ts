import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { FairShares, type FairSharesOptions, type Release } from './fair-shares.ts';

const GRACE_MS = 500;
/** A permit of this account may not be revoked yet. */
let busy: string;

interface Held {
  readonly name: string;
  readonly release: Release;
}

let shares: FairShares;
/** Acquired permits, in order. */
let started: Held[];
let refused: string[];
let revoked: string[];

beforeEach(() => {
  jest.useFakeTimers();
  begin(4);
});
afterEach(() => {
  jest.useRealTimers();
});

function begin(capacity: number, options: FairSharesOptions = {}): void {
  shares = new FairShares(capacity, { graceMs: GRACE_MS, ...options });
  started = [];
  refused = [];
  revoked = [];
  busy = '';
}

interface RequestOptions {
  readonly withinMs?: number;
  readonly signal?: AbortSignal;
  readonly isRevocable?: boolean;
}

/** Requests a permit. The name is `account/line`. */
async function request(
  name: string,
  { isRevocable = false, ...options }: RequestOptions = {},
): Promise<void> {
  const [account = '', line = ''] = name.split('/');
  const onRevoke = (): boolean => name !== busy && revoked.push(name) > 0;
  const permit = shares.acquire(account, { line, ...options, ...(isRevocable && { onRevoke }) });
  void permit.then((release) => {
    if (release === null) refused.push(name);
    else started.push({ name, release });
  });
  await settle();
}

async function requestAll(names: string, options?: RequestOptions): Promise<void> {
  for (const name of names.split(' ')) await request(name, options);
}

async function release(index: number): Promise<void> {
  started[index]?.release();
  await settle();
}

async function pass(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  await settle();
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  jest.advanceTimersByTime(0);
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

const namesFrom = (start: number): string =>
  started
    .slice(start)
    .map(({ name }) => name)
    .join(' ');

describe('a free permit goes to', () => {
  test('the waiting account with the fewest permits', async () => {
    await requestAll('a a a b b a c');
    await release(0);
    await release(1);
    expect(namesFrom(4)).toBe('c b');
  });

  test('accounts with the same number of permits in turns', async () => {
    begin(1);
    await requestAll('x a a a b b c');
    for (const index of [0, 1, 2, 3, 4, 5]) await release(index);
    expect(namesFrom(0)).toBe('x a b c a b a');
  });

  test('the lines of an account in turns', async () => {
    await requestAll('b b c c a/5 a/5 a/5 a/6 a/7');
    for (const index of [0, 1, 2, 3]) await release(index);
    expect(namesFrom(4)).toBe('a/5 a/6 a/7 a/5');
  });

  test('waiting requests when the capacity grows', async () => {
    await requestAll('a a a a a b');
    shares.setCapacity(6);
    await settle();
    expect(namesFrom(4)).toBe('b a');
  });
});

describe('a waiting request is refused', () => {
  beforeEach(() => requestAll('a b c d'));

  test('when its time is up', async () => {
    await request('e', { withinMs: 100 });
    await request('f', { withinMs: 200 });
    await pass(150);
    expect(refused).toEqual(['e']);
    await release(0);
    expect([namesFrom(4), shares.waiting]).toEqual(['f', 0]);
  });

  test('when it is withdrawn', async () => {
    const caller = new AbortController();
    await requestAll('e e', { signal: caller.signal });
    caller.abort();
    await request('e', { signal: caller.signal });
    expect([refused, shares.waiting]).toEqual([['e', 'e', 'e'], 0]);
  });

  test('when all are refused', async () => {
    await requestAll('e f');
    shares.refuseWaiting();
    await settle();
    expect([refused, shares.waiting]).toEqual([['e', 'f'], 0]);
  });

  test('when too many requests of the account wait', async () => {
    begin(1, { maxWaiting: 2 });
    await requestAll('a a a a b');
    expect([refused, shares.waiting]).toEqual([['a'], 3]);
  });
});

test('a permit counts once if it is released repeatedly', async () => {
  await requestAll('a a');
  await release(0);
  await release(0);
  expect(shares.used).toBe(1);
});

test('a permit is available without waiting while one is free', async () => {
  await requestAll('a a a');
  const last = shares.tryAcquire('a');
  expect([last === null, shares.tryAcquire('b')]).toEqual([false, null]);
  last?.();
  expect(shares.tryAcquire('b')).not.toBeNull();
});

test('an account below a guaranteed share does not wait for permits that are in use', async () => {
  shares = new FairShares(4, { isGuaranteed: true });
  await requestAll('one one one one one two two two');
  expect(started.map(({ name }) => name)).toEqual(['one', 'one', 'one', 'one', 'two', 'two']);
  expect([shares.used, shares.waiting]).toEqual([6, 2]);
  for (const index of [0, 1, 2]) await release(index);
  expect(started.slice(6).map(({ name }) => name)).toEqual(['one']);
});

describe('revocable permits', () => {
  test('stay with an account that is alone', async () => {
    await requestAll('a a a a a', { isRevocable: true });
    await pass(10 * GRACE_MS);
    expect([revoked, shares.waiting]).toEqual([[], 1]);
  });

  test('go from the account with the most, oldest first, to one that has waited for its share', async () => {
    await requestAll('a/1 b/1 a/2 a/3 b/2 b/3', { isRevocable: true });
    await pass(GRACE_MS - 1);
    expect(revoked).toEqual([]);
    await pass(1);
    expect([revoked, namesFrom(4)]).toEqual([['a/1'], 'b/2']);
    await pass(10 * GRACE_MS);
    expect(revoked).toEqual(['a/1']);
  });

  test('are kept for the grace time', async () => {
    begin(1);
    await requestAll('a b', { isRevocable: true });
    await pass(GRACE_MS);
    await request('c', { isRevocable: true });
    await pass(GRACE_MS - 1);
    expect(revoked).toEqual(['a']);
    await pass(1);
    expect(revoked).toEqual(['a', 'b']);
  });

  test('are revoked later if their work cannot end yet', async () => {
    begin(1);
    busy = 'a';
    await requestAll('a b', { isRevocable: true });
    await pass(GRACE_MS);
    busy = '';
    await pass(GRACE_MS - 1);
    expect(revoked).toEqual([]);
    await pass(1);
    expect([revoked, namesFrom(1)]).toEqual([['a'], 'b']);
  });

  test('are not revoked when permits become free', async () => {
    await requestAll('a a a a b', { isRevocable: true });
    await release(3);
    await pass(10 * GRACE_MS);
    expect([namesFrom(4), revoked]).toEqual(['b', []]);
  });
});

describe('timed permits', () => {
  beforeEach(() => begin(1, { isTimed: true }));

  /** Uses the last permit for a time, and optionally requests another one before others are served. */
  async function use(ms: number, next?: string): Promise<void> {
    await pass(ms);
    const { length } = started;
    started[length - 1]?.release();
    if (next !== undefined) void request(next);
    await settle();
  }

  test('go to the account that has spent the least time', async () => {
    await requestAll('a a a b b b b b');
    await use(100);
    for (const ms of [30, 30, 30, 30, 100, 1]) await use(ms);
    expect(namesFrom(0)).toBe('a b b b b a b a');
  });

  test('stay with a request that continues and has spent less than others', async () => {
    await requestAll('b a a');
    await use(10, 'b');
    await use(50);
    await use(20, 'b');
    await use(20, 'b');
    expect(namesFrom(0)).toBe('b a b b a');
  });

  test('do not go first to an account that spent much time before it paused', async () => {
    await requestAll('a b b b b b b');
    await use(50);
    await request('a');
    for (const ms of [20, 20, 20]) await use(ms);
    expect(namesFrom(0)).toBe('a b b b a');
  });

  test('are granted within a guaranteed share while others wait', async () => {
    begin(2, { isTimed: true, isGuaranteed: true });
    await requestAll('a a a b b');
    expect(namesFrom(0)).toBe('a a b');
  });

  test('go to an account as if it had spent no more time than others before it came', async () => {
    await requestAll('a a a a');
    await use(500);
    await use(500);
    await requestAll('b b b');
    for (const ms of [500, 20, 20]) await use(ms);
    expect(namesFrom(0)).toBe('a a a b b b');
  });
});

/** Draws pseudo-random integers below a bound (mulberry32). */
function drawFrom(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

const SEEDS = Array.from({ length: 25 }, (_, seed) => seed + 1);

/** Several accounts that request and release permits at random. */
class Crowd {
  readonly draw: (bound: number) => number;
  readonly accounts: string[];
  readonly held: (Held & { readonly isRevocable: boolean })[] = [];
  readonly waiting: { readonly name: string; readonly caller: AbortController }[] = [];
  capacity: number;
  /** Called when a permit is taken from an account. */
  onRevoke: (account: string) => void = () => undefined;

  constructor(seed: number) {
    this.draw = drawFrom(seed);
    this.capacity = 1 + this.draw(12);
    this.accounts = Array.from({ length: 1 + this.draw(6) }, (_, index) => `account ${index}`);
    begin(this.capacity);
  }

  get competing(): Set<string> {
    return new Set([...this.held, ...this.waiting].map(({ name }) => name));
  }

  usedBy(account: string): number {
    return this.held.filter(({ name }) => name === account).length;
  }

  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[this.draw(items.length)];
  }

  async request(name: string, isRevocable: boolean): Promise<void> {
    const request = { name, caller: new AbortController() };
    this.waiting.push(request);
    let held: (typeof this.held)[number] | undefined;
    const revocable = {
      onRevoke: () => {
        this.onRevoke(name);
        remove(this.held, held);
        return true;
      },
    };
    const options = {
      line: String(this.draw(3)),
      signal: request.caller.signal,
      ...(isRevocable && revocable),
    };
    void shares.acquire(name, options).then((release) => {
      remove(this.waiting, request);
      if (release === null) return;
      held = { name, release, isRevocable };
      this.held.push(held);
    });
    await settle();
  }

  async release(held = this.pick(this.held)): Promise<void> {
    remove(this.held, held);
    held?.release();
    await settle();
  }

  async step(): Promise<void> {
    const action = this.draw(10);
    if (action < 5) await this.request(this.pick(this.accounts) ?? '', this.draw(2) === 0);
    else if (action < 7) await this.release();
    else if (action === 7) this.pick(this.waiting)?.caller.abort();
    else if (action === 8) await pass(this.draw(2 * GRACE_MS));
    else shares.setCapacity((this.capacity = 1 + this.draw(12)));
    await settle();
  }
}

function remove<Item>(items: Item[], item: Item | undefined): void {
  const index = items.findIndex((other) => other === item);
  if (index >= 0) items.splice(index, 1);
}

describe('whatever accounts do', () => {
  test.each(SEEDS)(
    'no request waits while a permit is free, and the neediest is served (seed %i)',
    async (seed) => {
      const crowd = new Crowd(seed);
      for (let step = 0; step < 150; step += 1) {
        const before = [...crowd.held];
        await crowd.step();
        expect([shares.used, shares.waiting]).toEqual([crowd.held.length, crowd.waiting.length]);
        if (shares.waiting > 0) expect(shares.used).toBeGreaterThanOrEqual(crowd.capacity);
        if (before.some((held) => !crowd.held.includes(held) && held.isRevocable)) continue;
        for (const { name } of crowd.held.filter((held) => !before.includes(held)))
          for (const other of crowd.waiting)
            expect(crowd.usedBy(name) - 1).toBeLessThanOrEqual(crowd.usedBy(other.name));
      }
    },
  );

  test.each(SEEDS)('only accounts above their share lose permits (seed %i)', async (seed) => {
    const crowd = new Crowd(seed);
    let share = 0;
    crowd.onRevoke = (account) => expect(crowd.usedBy(account)).toBeGreaterThan(share);
    for (let step = 0; step < 150; step += 1) {
      share = crowd.capacity / crowd.competing.size;
      await crowd.step();
    }
  });

  test.each(SEEDS)(
    'an account alone gets all permits, and then n accounts 1/n each (seed %i)',
    async (seed) => {
      const crowd = new Crowd(seed);
      const { accounts, capacity, draw } = crowd;
      const [first = ''] = accounts;
      const isRevocable = draw(2) === 0;
      for (let count = 0; count < capacity; count += 1) await crowd.request(first, isRevocable);
      expect(crowd.usedBy(first)).toBe(capacity);
      const former = [...crowd.held];
      const backlog = async (): Promise<void> => {
        for (const name of accounts)
          while (crowd.waiting.filter((one) => one.name === name).length < capacity)
            await crowd.request(name, isRevocable);
      };
      await backlog();
      if (isRevocable) await pass(GRACE_MS);
      else for (const held of former) await crowd.release(held);
      for (let round = 0; round < 40; round += 1) {
        const used = accounts.map((name) => crowd.usedBy(name));
        expect(Math.min(...used)).toBeGreaterThanOrEqual(Math.floor(capacity / accounts.length));
        await crowd.release();
        await backlog();
      }
    },
  );
});
