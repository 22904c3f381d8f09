import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { CheckCapacity, type Place } from './check-capacity.ts';

const CONCURRENCY = 10;
const SLOW_LIMIT = 40;

let capacity: CheckCapacity;
let isStalled: boolean;
let backlog: boolean[];
/** The places of the checks that run, by monitor. */
let running: Map<string, Place>;
let refused: string[];
beforeEach(() => {
  jest.useFakeTimers();
  isStalled = false;
  backlog = [];
  running = new Map();
  refused = [];
  capacity = new CheckCapacity({
    concurrency: CONCURRENCY,
    slowLimit: SLOW_LIMIT,
    isStalled: () => isStalled,
    onBacklog: (waiting) => backlog.push(waiting),
    now: () => Date.now(),
  });
});
afterEach(() => {
  jest.useRealTimers();
});

interface Changes {
  readonly account?: string;
  readonly host?: string;
  readonly withinMs?: number;
}

async function start(monitorId: string, changes: Changes = {}): Promise<void> {
  const { account = 'one', host = `${monitorId}.example`, withinMs = 75_000 } = changes;
  const claim = { monitorId, accountId: account, url: `https://${host}/health`, intervalSeconds: 60 };
  void capacity.acquire(claim, withinMs).then((place) => {
    if (place === null) refused.push(monitorId);
    else running.set(monitorId, place);
  });
  await settle();
}

async function finish(...monitorIds: string[]): Promise<void> {
  for (const id of monitorIds) {
    running.get(id)?.probed();
    running.get(id)?.release();
    running.delete(id);
  }
  await settle();
}

async function pass(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  await settle();
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

const many = (count: number, name: string): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);
const startAll = async (ids: readonly string[], changes?: Changes): Promise<void> => {
  for (const id of ids) await start(id, changes);
};

/** Checks of these monitors that have hung for a second. */
async function hang(ids: readonly string[], changes?: Changes): Promise<void> {
  for (let at = 0; at < ids.length; at += CONCURRENCY) {
    await startAll(ids.slice(at, at + CONCURRENCY), changes);
    await pass(1_000);
  }
}

describe('targets that hang', () => {
  test('keep no place from a check of a fast monitor', async () => {
    await hang(many(3 * CONCURRENCY, 'hanging'));
    expect(running.size).toBe(3 * CONCURRENCY);
    await startAll(many(CONCURRENCY, 'fast'), { account: 'two' });
    expect(running.size).toBe(4 * CONCURRENCY);
    expect(backlog).toEqual([]);
  });

  test('start as slow ones the next time, so that they take no place of fast ones', async () => {
    const hanging = many(2 * CONCURRENCY, 'hanging');
    await hang(hanging);
    await finish(...hanging);
    await startAll(hanging);
    await startAll(many(CONCURRENCY, 'fast'));
    expect(running.size).toBe(3 * CONCURRENCY);
  });

  test('of one account leave a quarter of the slow places to others', async () => {
    const hanging = many(SLOW_LIMIT, 'hanging');
    await hang(hanging);
    await finish(...hanging);
    await startAll(hanging);
    expect(running.size).toBe(SLOW_LIMIT * 0.75);
    await hang(['other'], { account: 'two' });
    await finish('other');
    await start('other', { account: 'two' });
    expect(running.has('other')).toBe(true);
  });

  test('of one host leave half of the slow places to others', async () => {
    const hanging = many(SLOW_LIMIT, 'hanging');
    await hang(hanging, { host: 'dead.example' });
    await finish(...hanging);
    await startAll(hanging, { host: 'dead.example' });
    expect(running.size).toBe(SLOW_LIMIT / 2);
  });

  test('wait for their turn, and give up when it does not come in time', async () => {
    const hanging = many(SLOW_LIMIT, 'hanging');
    await hang(hanging);
    await finish(...hanging);
    await startAll(hanging, { withinMs: 5_000 });
    const late = hanging.filter((id) => !running.has(id));
    await finish('hanging-0');
    expect(running.has(late[0] ?? '')).toBe(true);
    await pass(5_000);
    expect(refused).toEqual(late.slice(1));
    expect(backlog).toEqual([]);
  });
});

test('a monitor is a fast one again after three fast checks', async () => {
  const hanging = many(SLOW_LIMIT, 'hanging');
  await hang(['shop']);
  await finish('shop');
  await hang(hanging, { account: 'two' });
  await finish(...hanging);
  for (let check = 0; check < 3; check += 1) {
    await start('shop');
    await finish('shop');
  }
  await startAll(hanging, { account: 'two' });
  await hang(many(CONCURRENCY, 'more'), { account: 'three' });
  await start('shop');
  expect(running.has('shop')).toBe(true);
});

test('checks that are late because this process is busy are not slow', async () => {
  await startAll(many(CONCURRENCY, 'fast'));
  const timer = Date.now() + 3_000;
  // The timers of a busy process fire late.
  jest.setSystemTime(timer);
  await pass(1_000);
  await start('waits');
  expect(running.has('waits')).toBe(false);
  expect(backlog).toEqual([true]);
  await pass(1_000);
  expect(running.has('waits')).toBe(true);
});

describe('jobs are left to others', () => {
  test('while checks wait for fast ones to end', async () => {
    const fast = many(CONCURRENCY, 'fast');
    await startAll(fast);
    expect(backlog).toEqual([]);
    await startAll(['next', 'last']);
    expect(backlog).toEqual([true]);
    await finish('fast-0');
    expect(backlog).toEqual([true]);
    await finish('fast-1');
    expect([backlog, running.size]).toEqual([[true, false], CONCURRENCY]);
  });

  test('while as many results wait for a Postgres that takes none', async () => {
    isStalled = true;
    const fast = many(CONCURRENCY, 'fast');
    await startAll(fast);
    for (const id of fast) running.get(id)?.probed();
    expect(backlog).toEqual([true]);
    isStalled = false;
    running.get('fast-0')?.release();
    expect(backlog).toEqual([true, false]);
  });

  test('but not while results wait for their own monitor', async () => {
    const fast = many(3 * CONCURRENCY, 'fast');
    for (const id of fast) {
      await start(id);
      running.get(id)?.probed();
    }
    expect([running.size, backlog]).toEqual([3 * CONCURRENCY, []]);
  });
});

test('after closing nothing starts, and whoever waits is refused', async () => {
  await startAll(many(CONCURRENCY + 2, 'fast'));
  capacity.close();
  await start('late');
  expect(refused.toSorted()).toEqual([`fast-${CONCURRENCY}`, `fast-${CONCURRENCY + 1}`, 'late']);
});
