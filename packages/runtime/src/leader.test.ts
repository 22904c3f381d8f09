import { afterEach, describe, expect, test } from '@jest/globals';
import { createLeaderLoop, type LeaderLease, type LeaderLoop, type LeaderLoopOptions } from './leader.ts';
import { createSilentLogger } from './logger.ts';
import { captureLog } from './testing/captured-log.ts';
import { until } from './testing/until.ts';

/** One lock in memory, with leases that can be lost. */
class Lock {
  holder: object | null = null;
  requests = 0;
  released = 0;
  #lose: (() => void) | undefined;

  readonly acquire = async (): Promise<LeaderLease | null> => {
    this.requests += 1;
    if (this.holder !== null) return null;
    const mine = {};
    this.holder = mine;
    return {
      isAlive: () => this.holder === mine,
      release: async () => {
        this.released += 1;
        if (this.holder === mine) this.holder = null;
      },
      onLost: (callback) => {
        this.#lose = callback;
      },
    };
  };

  /** Ends the lease. Its callback does not run before `reportLoss`. */
  expire(): void {
    this.holder = null;
    this.reportLoss = this.#lose;
  }

  reportLoss: (() => void) | undefined;

  lose(): void {
    this.holder = null;
    this.#lose?.();
  }
}

const loops: LeaderLoop[] = [];
afterEach(() => Promise.all(loops.splice(0).map((loop) => loop.stop())));

/** Starts a loop that works every millisecond while it holds the lock. */
function lead(
  acquire: LeaderLoopOptions['acquire'],
  work: LeaderLoopOptions['work'],
  options: Partial<LeaderLoopOptions> = {},
): LeaderLoop {
  const defaults = { name: 'test', everyMs: 1, retryMs: 2, logger: createSilentLogger() };
  const loop = createLeaderLoop({ ...defaults, acquire, work, ...options });
  loops.push(loop);
  return loop;
}

const nothing = async (): Promise<void> => undefined;

describe('createLeaderLoop', () => {
  test('works in only one process, and another one takes over when it stops', async () => {
    const lock = new Lock();
    const runs = { first: 0, second: 0 };
    const first = lead(lock.acquire, async () => void (runs.first += 1));
    await until('the first loop has run three times', () => runs.first > 2);
    const second = lead(lock.acquire, async () => void (runs.second += 1));
    await until('the second loop stands by', () => second.leadership() === 'standby');
    const before = lock.requests;
    await until('the second loop has requested the lock three times', () => lock.requests >= before + 3);
    expect([first.leadership(), second.isLeader(), runs.second]).toEqual(['leader', false, 0]);
    await first.stop();
    expect(lock.released).toBe(1);
    await until('the second loop has run', () => runs.second > 0);
    expect(second.isLeader()).toBe(true);
  });

  test('aborts the work when the lease is lost, and tries again', async () => {
    const lock = new Lock();
    const signals: AbortSignal[] = [];
    lead(lock.acquire, async (signal) => {
      signals.push(signal);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    await until('the first run', () => signals.length === 1);
    lock.lose();
    expect(signals[0]?.aborted).toBe(true);
    await until('the next run', () => signals.length === 2);
  });

  test('reports each loss once, even if the election notices it before the callback', async () => {
    const { logger, text } = captureLog();
    const lock = new Lock();
    let [elected, lost] = [0, 0];
    const onElected = (): number => (elected += 1);
    const onLost = (): number => (lost += 1);
    const loop = lead(lock.acquire, nothing, { onElected, onLost, logger });
    await until('the loop leads', () => elected === 1 && loop.isLeader());
    lock.expire();
    await until('the loop leads again', () => elected === 2 && loop.isLeader());
    expect(lost).toBe(1);
    lock.reportLoss?.();
    expect(lost).toBe(1);
    lock.lose();
    await until('the loop leads once more', () => elected === 3 && loop.isLeader());
    expect([lost, text().match(/Lost the leadership of test/g)?.length]).toEqual([2, 2]);
  });

  test('waits for the running work before it ends the leadership', async () => {
    const lock = new Lock();
    let finished = false;
    const loop = lead(lock.acquire, async (signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      expect(lock.released).toBe(0);
      finished = true;
    });
    await until('the loop leads', () => loop.isLeader());
    await loop.stop();
    expect([finished, lock.released, loop.isLeader()]).toEqual([true, 1, false]);
  });

  test('abandons an election without a result, logs it, tries again, and releases a late lease', async () => {
    const { logger, text } = captureLog();
    const elections: { signal: AbortSignal; resolve: (lease: LeaderLease | null) => void }[] = [];
    const acquire: LeaderLoopOptions['acquire'] = (signal) =>
      new Promise((resolve) => elections.push({ signal, resolve }));
    const loop = lead(acquire, nothing, { acquireWithinMs: 1, logger });
    await until('the third election', () => elections.length > 2);
    expect(elections[0]?.signal.aborted).toBe(true);
    expect(loop.leadership()).toBe('unknown');
    expect(text()).toContain('test: electing the leader failed');
    let released = false;
    elections[0]?.resolve({ isAlive: () => true, release: async () => void (released = true) });
    await until('the late lease is released', () => released);
    expect(loop.isLeader()).toBe(false);
  });

  test('stops during an election without a result', async () => {
    let elections = 0;
    const hanging = (): Promise<never> => new Promise(() => void (elections += 1));
    const loop = lead(hanging, nothing, { acquireWithinMs: 600_000 });
    await until('the election has begun', () => elections === 1);
    await loop.stop();
    expect(loop.isLeader()).toBe(false);
  });
});
