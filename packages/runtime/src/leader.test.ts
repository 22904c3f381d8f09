import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createLeaderLoop } from './leader.ts';
import type { LeaderLease, LeaderLoop } from './leader.ts';
import { createLogger, createSilentLogger } from './logger.ts';
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

  /** The lease is over; its callback does not run before `reportLoss`. */
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
afterEach(async () => {
  await Promise.all(loops.splice(0).map((loop) => loop.stop()));
});

function lead(lock: Lock, work: (signal: AbortSignal) => Promise<void>): LeaderLoop {
  const loop = createLeaderLoop({
    name: 'test',
    acquire: lock.acquire,
    work,
    everyMs: 1,
    retryMs: 2,
    logger: createSilentLogger(),
  });
  loops.push(loop);
  return loop;
}

describe('createLeaderLoop', () => {
  it('works in one process only; another takes over when it stops', async () => {
    const lock = new Lock();
    const runs = { first: 0, second: 0 };
    const first = lead(lock, async () => void (runs.first += 1));
    await until('the first loop has run three times', () => runs.first > 2);
    const second = lead(lock, async () => void (runs.second += 1));
    const before = lock.requests;
    await until('the second loop has requested the lock three times', () => lock.requests >= before + 3);
    expect([first.isLeader(), second.isLeader(), runs.second]).toEqual([true, false, 0]);
    await first.stop();
    expect(lock.released).toBe(1);
    await until('the second loop has run', () => runs.second > 0);
    expect(second.isLeader()).toBe(true);
  });

  it('continues after errors of the work', async () => {
    let runs = 0;
    lead(new Lock(), () => Promise.reject(new Error(`run ${(runs += 1)}`)));
    await until('the third run', () => runs > 2);
  });

  it('aborts the work when the lease is lost, and tries again', async () => {
    const lock = new Lock();
    const signals: AbortSignal[] = [];
    lead(lock, async (signal) => {
      signals.push(signal);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    await until('the first run', () => signals.length === 1);
    lock.lose();
    expect(signals[0]?.aborted).toBe(true);
    await until('the next run', () => signals.length === 2);
  });

  it('reports each loss once, even if the election notices it before the callback', async () => {
    let log = '';
    const stream = new PassThrough().setEncoding('utf8').on('data', (text: string) => (log += text));
    const lock = new Lock();
    let [elected, lost] = [0, 0];
    const loop = createLeaderLoop({
      name: 'test',
      acquire: lock.acquire,
      onElected: () => (elected += 1),
      onLost: () => (lost += 1),
      work: async () => undefined,
      everyMs: 1,
      retryMs: 2,
      logger: createLogger({ service: 'test', format: 'json', stream }),
    });
    loops.push(loop);
    await until('the loop leads', () => elected === 1 && loop.isLeader());
    lock.expire();
    await until('the loop leads again', () => elected === 2 && loop.isLeader());
    expect(lost).toBe(1);
    lock.reportLoss?.();
    expect(lost).toBe(1);
    lock.lose();
    await until('the loop leads once more', () => elected === 3 && loop.isLeader());
    expect([lost, log.match(/Lost the leadership of test/g)?.length]).toEqual([2, 2]);
  });

  it('waits for the running work before it ends the leadership', async () => {
    const lock = new Lock();
    let finished = false;
    const loop = lead(lock, async (signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      expect(lock.released).toBe(0);
      finished = true;
    });
    await until('the loop leads', () => loop.isLeader());
    await loop.stop();
    expect([finished, lock.released, loop.isLeader()]).toEqual([true, 1, false]);
  });

  it('abandons an election without a result, logs it and tries again; a late lease is released', async () => {
    let log = '';
    const stream = new PassThrough().setEncoding('utf8').on('data', (text: string) => (log += text));
    const elections: { signal: AbortSignal; resolve: (lease: LeaderLease | null) => void }[] = [];
    const loop = createLeaderLoop({
      name: 'test',
      acquire: (signal) => new Promise((resolve) => elections.push({ signal, resolve })),
      acquireWithinMs: 1,
      work: async () => undefined,
      everyMs: 1,
      retryMs: 2,
      logger: createLogger({ service: 'test', format: 'json', stream }),
    });
    loops.push(loop);
    await until('the third election', () => elections.length > 2);
    expect(elections[0]?.signal.aborted).toBe(true);
    expect(loop.leadership()).toBe('unknown');
    expect(log).toContain('test: electing the leader failed');
    let released = false;
    elections[0]?.resolve({ isAlive: () => true, release: async () => void (released = true) });
    await until('the late lease is released', () => released);
    expect(loop.isLeader()).toBe(false);
  });

  it('knows whether another process leads', async () => {
    const lock = new Lock();
    const first = lead(lock, async () => undefined);
    await until('the first loop leads', () => first.leadership() === 'leader');
    const second = lead(lock, async () => undefined);
    await until('the second loop stands by', () => second.leadership() === 'standby');
  });

  it('stops during an election without a result', async () => {
    let elections = 0;
    const loop = createLeaderLoop({
      name: 'test',
      acquire: () => new Promise(() => void (elections += 1)),
      acquireWithinMs: 600_000,
      work: async () => undefined,
      everyMs: 1,
      logger: createSilentLogger(),
    });
    await until('the election has begun', () => elections === 1);
    await loop.stop();
    expect(loop.isLeader()).toBe(false);
  });
});
