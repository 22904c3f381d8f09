import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { CheckCapacity, type Permit } from './check-capacity.ts';

const CONCURRENCY = 10;
const SLOW_LIMIT = 40;
/** After this wait, an account gets its share. */
const GRACE_MS = 250;

let capacity: CheckCapacity;
let isStalled: boolean;
let isBusy: boolean;
let backlog: boolean[];
/** Reports the lateness of the event loop in ms. */
let sampleLateness: (lateMs: number) => void;
let running: Map<string, Permit>;
let refused: [string, string][];
/** Monitors whose check only waits for its target. */
let slow: string[];
beforeEach(() => {
  jest.useFakeTimers();
  isStalled = false;
  isBusy = false;
  slow = [];
  backlog = [];
  running = new Map();
  refused = [];
  capacity = new CheckCapacity({
    concurrency: CONCURRENCY,
    slowLimit: SLOW_LIMIT,
    isStalled: () => isStalled,
    isBusy: () => isBusy,
    watchLateness: (onSample) => {
      sampleLateness = onSample;
      return () => undefined;
    },
    now: () => Date.now(),
  });
  capacity.onBacklog((isBehind) => backlog.push(isBehind));
});
afterEach(() => {
  jest.useRealTimers();
});

interface Changes {
  readonly account?: string;
  readonly host?: string;
  readonly withinMs?: number;
  readonly intervalSeconds?: number;
}

async function start(monitorId: string, changes: Changes = {}): Promise<void> {
  const { account = 'one', host = `${monitorId}.example`, withinMs = 75_000, intervalSeconds = 60 } = changes;
  const url = `https://${host}/health`;
  const claim = { monitorId, accountId: account, url, intervalSeconds, timeoutSeconds: 60 };
  void capacity
    .acquire(claim, withinMs, () => slow.push(monitorId))
    .then((permit) => {
      if (typeof permit === 'string') {
        refused.push([monitorId, permit]);
        return;
      }
      running.set(monitorId, permit);
      permit.begin();
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

/** Lists running checks whose capacity other checks need. */
const revoked = (): string[] =>
  Array.from(running).flatMap(([id, { signal }]) => (signal.aborted ? [id] : []));

/** Makes this monitor slow. */
async function remember(id: string, host: string): Promise<void> {
  await hang([id], { host, intervalSeconds: 86_400 });
  await finish(id);
}

/** Starts checks of these monitors that hang for a second. */
async function hang(ids: readonly string[], changes?: Changes): Promise<void> {
  for (let at = 0; at < ids.length; at += CONCURRENCY) {
    await startAll(ids.slice(at, at + CONCURRENCY), changes);
    await pass(1_000);
  }
}

describe('targets that hang', () => {
  test('of a sole account, and of a sole host, may hold all slow permits', async () => {
    const hanging = many(SLOW_LIMIT, 'hanging');
    await hang(hanging, { host: 'dead.example' });
    await finish(...hanging);
    await startAll(hanging, { host: 'dead.example' });
    expect(running.size).toBe(SLOW_LIMIT);
  });

  test('give way to slow checks of an account below its share, and have no result', async () => {
    const hanging = many(SLOW_LIMIT, 'hanging');
    await hang(hanging);
    await hang(['remembered'], { account: 'two' });
    await pass(GRACE_MS);
    // A check that becomes slow takes the place of the check that has waited longest for its target.
    expect(revoked()).toEqual(['hanging-0']);
    await finish('remembered');
    await start('new');
    await pass(1_000);
    await start('remembered', { account: 'two' });
    expect(running.has('remembered')).toBe(false);
    await pass(GRACE_MS);
    expect([running.has('remembered'), revoked()]).toEqual([true, ['hanging-0', 'hanging-1']]);
  });

  test('of two accounts get the same number of slow permits', async () => {
    const one = many(SLOW_LIMIT, 'one');
    const two = many(SLOW_LIMIT, 'two');
    for (const [account, ids] of [
      ['one', one],
      ['two', two],
    ] as const) {
      await hang(ids, { account, intervalSeconds: 86_400 });
      await finish(...ids);
    }
    await startAll(one);
    await startAll(two, { account: 'two' });
    expect(running.size).toBe(SLOW_LIMIT);
    await pass(GRACE_MS);
    expect(two.filter((id) => running.has(id)).length).toBe(SLOW_LIMIT / 2);
    expect(revoked().length).toBe(SLOW_LIMIT / 2);
  });

  test('of several hosts take turns', async () => {
    const dead = many(SLOW_LIMIT + 2, 'dead');
    for (const id of dead) await remember(id, 'dead.example');
    await remember('other', 'other.example');
    await startAll(dead, { host: 'dead.example' });
    await start('other', { host: 'other.example' });
    await finish('dead-0', 'dead-1');
    expect([running.has(`dead-${SLOW_LIMIT}`), running.has('other')]).toEqual([true, true]);
  });

  test('never hold fast permits, even if no slow permit is free', async () => {
    await hang(many(SLOW_LIMIT, 'hanging'));
    const more = many(CONCURRENCY, 'more');
    await hang(more);
    await startAll(many(CONCURRENCY, 'fast'));
    expect([many(CONCURRENCY, 'fast').every((id) => running.has(id)), refused]).toEqual([true, []]);
    await pass(2_000);
    expect(revoked()).toEqual(more);
  });

  test('wait in a queue with room for another account', async () => {
    const hanging = many(SLOW_LIMIT + SLOW_LIMIT / 2 + 2, 'hanging');
    for (let at = 0; at < hanging.length; at += CONCURRENCY) {
      const some = hanging.slice(at, at + CONCURRENCY);
      await hang(some, { intervalSeconds: 86_400 });
      await finish(...some);
    }
    await startAll(hanging);
    expect(refused).toEqual([[`hanging-${SLOW_LIMIT + SLOW_LIMIT / 2 + 1}`, 'throttled']]);
  });

  test('report each check that only waits once', async () => {
    await hang(['shop', 'blog']);
    await start('fast');
    expect(slow).toEqual(['shop', 'blog']);
    await finish('shop', 'blog', 'fast');
    await hang(['shop']);
    expect(slow).toEqual(['shop', 'blog', 'shop']);
  });

  test.each([5, 86_400])(
    'are remembered until the next check of an interval of %d s',
    async (intervalSeconds) => {
      await hang(['shop'], { intervalSeconds });
      await pass(59_000);
      await finish('shop');
      await pass(intervalSeconds * 1_000);
      // Expired entries are deleted when another one is added.
      await hang(['other']);
      await finish('other');
      expect(capacity.isSlow('shop')).toBe(true);
    },
  );

  test('wait for their turn, and are refused when it does not come in time', async () => {
    const hanging = many(SLOW_LIMIT + 10, 'hanging');
    await hang(hanging);
    await finish(...hanging);
    await startAll(hanging, { withinMs: 5_000 });
    const late = hanging.filter((id) => !running.has(id));
    await finish('hanging-0');
    expect(running.has(late[0] ?? '')).toBe(true);
    await pass(5_000);
    expect(refused).toEqual(late.slice(1).map((id) => [id, 'throttled']));
    expect(backlog).toEqual([]);
  });
});

test('a monitor counts as fast again after three fast checks', async () => {
  await hang(['shop']);
  await finish('shop');
  const slowAfter: boolean[] = [];
  for (let check = 0; check < 3; check += 1) {
    await start('shop');
    await finish('shop');
    slowAfter.push(capacity.isSlow('shop'));
  }
  expect(slowAfter).toEqual([true, true, false]);
});

test('checks that are late because this process is busy are not slow', async () => {
  await startAll(many(CONCURRENCY, 'fast'));
  const timer = Date.now() + 3_000;
  // In a busy process, timers fire late.
  jest.setSystemTime(timer);
  await pass(1_000);
  await start('waits');
  expect(running.has('waits')).toBe(false);
  await pass(1_000);
  expect(running.has('waits')).toBe(true);
});

test('time before the probe does not make a check slow', async () => {
  const claim = { monitorId: 'shop', accountId: 'one', url: '', intervalSeconds: 60, timeoutSeconds: 60 };
  const permit = await capacity.acquire(claim, 0);
  if (typeof permit === 'string') throw new Error(permit);
  await pass(30_000);
  permit.begin();
  permit.probed();
  permit.release();
  expect(capacity.isSlow('shop')).toBe(false);
});

test('a slow check that ends before its probe has a result is remembered as slow', async () => {
  await start('hangs');
  await pass(1_000);
  running.get('hangs')?.release();
  expect(capacity.isSlow('hangs')).toBe(true);
});

test('a fast check that gets no permit in time is late', async () => {
  await startAll(many(CONCURRENCY, 'fast'));
  await start('waits', { withinMs: 500 });
  await pass(500);
  expect(refused).toEqual([['waits', 'late']]);
});

test('fewer fast checks start while the event loop is late', async () => {
  capacity = new CheckCapacity({
    concurrency: 200,
    watchLateness: (onSample) => {
      sampleLateness = onSample;
      return () => undefined;
    },
  });
  const fast = many(200, 'fast');
  await startAll(fast);
  sampleLateness(150);
  await start('waits');
  for (const id of fast.slice(0, 50)) await finish(id);
  capacity.resize(210, SLOW_LIMIT);
  await settle();
  expect([running.size, running.has('waits')]).toEqual([150, false]);
  sampleLateness(0);
  await settle();
  expect(running.has('waits')).toBe(true);
});

test('more or fewer checks run after the limits change', async () => {
  await startAll(many(CONCURRENCY + 5, 'fast'));
  capacity.resize(CONCURRENCY + 2, SLOW_LIMIT);
  await settle();
  expect(running.size).toBe(CONCURRENCY + 2);
  capacity.resize(CONCURRENCY, SLOW_LIMIT);
  await finish('fast-0', 'fast-1', 'fast-2');
  expect(running.size).toBe(CONCURRENCY);
  sampleLateness(0);
  expect(running.size).toBe(CONCURRENCY);
});

describe('jobs are left to others', () => {
  test('while checks wait and the process is short of CPU time', async () => {
    const fast = many(CONCURRENCY, 'fast');
    isBusy = true;
    await startAll(fast);
    expect(backlog).toEqual([]);
    await startAll(['next', 'last']);
    expect(backlog).toEqual([true]);
    await finish('fast-0');
    expect(backlog).toEqual([true]);
    await finish('fast-1');
    expect([backlog, running.size]).toEqual([[true, false], CONCURRENCY]);
  });

  test('but not because some checks wait until others have become slow', async () => {
    await startAll(many(4 * CONCURRENCY, 'hanging'));
    await pass(1_000);
    expect([running.size, backlog]).toEqual([2 * CONCURRENCY, []]);
  });

  test('while very many checks wait, until half of them have started', async () => {
    await startAll(many(CONCURRENCY + 10_001, 'fast'));
    expect(backlog).toEqual([true]);
    for (const id of many(5_000, 'fast')) await finish(id);
    expect(backlog).toEqual([true]);
    await finish('fast-5000');
    expect(backlog).toEqual([true, false]);
  });

  test('while the maximum number of results waits for a Postgres that takes none', async () => {
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

test('after closing no check starts, and waiting ones are refused', async () => {
  await startAll(many(CONCURRENCY + 2, 'fast'));
  capacity.close();
  await start('late');
  const waited = [`fast-${CONCURRENCY}`, `fast-${CONCURRENCY + 1}`, 'late'];
  expect(new Map(refused)).toEqual(new Map(waited.map((id) => [id, 'closed'])));
});
