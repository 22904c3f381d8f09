import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import { RecentChecksStore } from './recent-checks-store.ts';
import type { RecentCheck } from './recent-checks.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

function checkOf(second: number): RecentCheck {
  const timestamp = new Date(Date.UTC(2026, 2, 1, 12, 0, second)).toISOString();
  return { timestamp, status: 'UP', latency: second, region: 'default' };
}

function eventOf(monitorId: string, second: number, url: string | null = null): Event {
  const timings = { dns: null, tcp: null, tls: null, firstByte: null, download: null };
  return {
    ...checkOf(second),
    id: `${monitorId}-${second}`,
    monitorId,
    monitorName: monitorId,
    statusCode: 200,
    errorReason: null,
    errorDetail: null,
    source: 'schedule',
    url,
    timings,
    runbookUrl: null,
  };
}

/** A server whose answers the test gives itself, in the order of the requests. */
function newServer(): {
  store: RecentChecksStore;
  asked: (readonly string[])[];
  answer: (answers: RecentChecks[] | Error) => Promise<void>;
} {
  const asked: (readonly string[])[] = [];
  const open: ((answers: RecentChecks[] | Error) => void)[] = [];
  const store = new RecentChecksStore((ids) => {
    asked.push(ids);
    return new Promise((resolve, reject) => {
      open.push((answers) => (answers instanceof Error ? reject(answers) : resolve(answers)));
    });
  });
  const answer = async (answers: RecentChecks[] | Error): Promise<void> => {
    open.shift()?.(answers);
    await jest.advanceTimersByTimeAsync(0);
  };
  return { store, asked, answer };
}

const noListener = (): void => undefined;
const seconds = (checks: readonly RecentCheck[] | null): number[] | undefined =>
  checks?.map(({ latency }) => latency);

describe('RecentChecksStore', () => {
  test('loads monitors that appear together with one request', async () => {
    const { store, asked, answer } = newServer();
    const listener = jest.fn();
    store.watch('a', listener);
    store.watch('b', noListener);
    expect(store.get('a')).toBeNull();
    await jest.advanceTimersByTimeAsync(100);
    expect(asked).toEqual([['a', 'b']]);
    await answer([{ monitorId: 'a', checks: [checkOf(1)] }]);
    expect(listener).toHaveBeenCalledTimes(1);
    expect(store.get('a')).toEqual([checkOf(1)]);
    // Deleted meanwhile: there is nothing to say of it.
    expect(store.get('b')).toEqual([]);
  });

  test('loads at most 200 monitors at once', async () => {
    const { store, asked } = newServer();
    for (let index = 0; index < 250; index += 1) store.watch(`m${index}`, noListener);
    await jest.advanceTimersByTimeAsync(200);
    expect(asked.map(({ length }) => length)).toEqual([200, 50]);
  });

  test('does not load monitors that were scrolled past', async () => {
    const { store, asked } = newServer();
    store.watch('passed', noListener)();
    store.watch('seen', noListener);
    await jest.advanceTimersByTimeAsync(100);
    expect(asked).toEqual([['seen']]);
    expect(store.size).toBe(1);
  });

  test('keeps live checks that arrive during a request', async () => {
    const { store, answer } = newServer();
    store.watch('a', noListener);
    store.add([eventOf('a', 2)]);
    await jest.advanceTimersByTimeAsync(100);
    store.add([eventOf('a', 3), eventOf('a', 4)]);
    await answer([{ monitorId: 'a', checks: [checkOf(1), checkOf(2), checkOf(3)] }]);
    expect(seconds(store.get('a'))).toEqual([1, 2, 3, 4]);
  });

  test('notifies once for each batch, and only of its own checks', async () => {
    const { store, answer } = newServer();
    const listener = jest.fn();
    store.watch('a', listener);
    await jest.advanceTimersByTimeAsync(100);
    await answer([{ monitorId: 'a', checks: [checkOf(1)] }]);
    listener.mockClear();
    const before = store.get('a');
    store.add([eventOf('b', 2), eventOf('a', 1), eventOf('a', 5, 'https://preview.example')]);
    expect(store.get('a')).toBe(before);
    expect(listener).not.toHaveBeenCalled();
    store.add([eventOf('a', 2), eventOf('a', 3)]);
    expect(listener).toHaveBeenCalledTimes(1);
    expect(seconds(store.get('a'))).toEqual([1, 2, 3]);
  });

  test('keeps monitors up to date for a while after they left the screen', async () => {
    const { store, asked, answer } = newServer();
    const leave = store.watch('a', noListener);
    await jest.advanceTimersByTimeAsync(100);
    await answer([{ monitorId: 'a', checks: [checkOf(1)] }]);
    leave();
    await jest.advanceTimersByTimeAsync(60_000);
    store.add([eventOf('a', 2)]);
    expect(seconds(store.get('a'))).toEqual([1, 2]);
    store.watch('a', noListener)();
    expect(asked).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(200_000);
    store.add([]);
    expect(store.size).toBe(0);
  });

  test('keeps a bounded number of monitors', async () => {
    const { store, answer } = newServer();
    for (let page = 0; page < 50; page += 1) {
      const ids = Array.from({ length: 40 }, (_, index) => `m${page * 40 + index}`);
      const leave = ids.map((id) => store.watch(id, noListener));
      await jest.advanceTimersByTimeAsync(100);
      await answer(ids.map((monitorId) => ({ monitorId, checks: [checkOf(1)] })));
      for (const end of leave) end();
    }
    store.add([]);
    expect(store.size).toBe(500);
    expect(store.get('m0')).toBeNull();
    expect(store.get('m1999')).not.toBeNull();
  });

  test('retries a failed request', async () => {
    const { store, asked, answer } = newServer();
    store.watch('a', noListener);
    await jest.advanceTimersByTimeAsync(100);
    await answer(new Error('no connection'));
    await jest.advanceTimersByTimeAsync(10_000);
    expect(asked).toEqual([['a'], ['a']]);
    await answer([{ monitorId: 'a', checks: [checkOf(1)] }]);
    expect(seconds(store.get('a'))).toEqual([1]);
  });

  test('a reset reloads and ignores older responses', async () => {
    const { store, asked, answer } = newServer();
    store.watch('a', noListener);
    await jest.advanceTimersByTimeAsync(100);
    store.reset();
    await jest.advanceTimersByTimeAsync(100);
    expect(asked).toEqual([['a'], ['a']]);
    await answer([{ monitorId: 'a', checks: [checkOf(1)] }]);
    expect(store.get('a')).toBeNull();
    await answer([{ monitorId: 'a', checks: [checkOf(1), checkOf(2)] }]);
    expect(seconds(store.get('a'))).toEqual([1, 2]);
  });

  test('loads nothing after it is closed', async () => {
    const { store, asked } = newServer();
    store.watch('a', noListener);
    store.close();
    await jest.advanceTimersByTimeAsync(100);
    expect(asked).toEqual([]);
    store.watch('b', noListener);
    await jest.advanceTimersByTimeAsync(100);
    expect(asked).toEqual([['a', 'b']]);
  });
});
