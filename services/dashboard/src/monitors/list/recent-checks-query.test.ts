import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import { eventAt } from '../testing/records.ts';
import { addRecentCheck, loadTogether, recentChecksQuery } from './recent-checks-query.ts';
import type { RecentCheck } from './recent-checks.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

function checkOf(second: number): RecentCheck {
  const timestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  return { timestamp, status: 'UP', inconclusive: false, latency: second, region: 'default' };
}

function eventOf(monitorId: string, second: number, url: string | null = null): Event {
  return { ...eventAt(second, monitorId), latency: second, url };
}

interface World {
  /** Puts a monitor on screen. @returns a function that removes it */
  readonly show: (monitorId: string, onChange?: () => void) => () => void;
  readonly add: (...events: Event[]) => void;
  /** The latencies of the cached checks; null until they are loaded. */
  readonly seconds: (monitorId: string) => number[] | null;
  readonly requests: (readonly string[])[];
  /** Responds to the oldest open request. */
  readonly respond: (response: RecentChecks[] | Error) => Promise<void>;
  readonly queryClient: QueryClient;
}

function createWorld(): World {
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const requests: (readonly string[])[] = [];
  const open: ((response: Promise<RecentChecks[]>) => void)[] = [];
  const load = loadTogether((ids) => {
    requests.push(ids);
    return new Promise((resolve) => {
      open.push(resolve);
    });
  });
  return {
    queryClient,
    requests,
    show: (monitorId, onChange = () => undefined) => {
      const observer = new QueryObserver(queryClient, recentChecksQuery(monitorId, load));
      return observer.subscribe(onChange);
    },
    add: (...events) => events.forEach((event) => addRecentCheck(queryClient, event)),
    seconds: (monitorId) => {
      const state = queryClient.getQueryState(recentChecksQuery(monitorId).queryKey);
      if (state?.data === undefined || state.dataUpdatedAt === 0) return null;
      return state.data.map(({ latency }) => latency);
    },
    respond: async (response) => {
      open.shift()?.(response instanceof Error ? Promise.reject(response) : Promise.resolve(response));
      await jest.advanceTimersByTimeAsync(1);
    },
  };
}

test('monitors that appear together are loaded with one request', async () => {
  const { show, requests, respond, seconds } = createWorld();
  show('a');
  show('b');
  await jest.advanceTimersByTimeAsync(100);
  expect(requests).toEqual([['a', 'b']]);
  expect(seconds('a')).toBeNull();
  await respond([{ monitorId: 'a', checks: [checkOf(1)] }]);
  // The monitor b was deleted.
  expect([seconds('a'), seconds('b')]).toEqual([[1], []]);
});

test('a request has at most 200 monitors', async () => {
  const { show, requests } = createWorld();
  for (let index = 0; index < 250; index += 1) show(`m${index}`);
  await jest.advanceTimersByTimeAsync(200);
  expect(requests.map(({ length }) => length)).toEqual([200, 50]);
});

test('monitors that are scrolled past are not loaded until they return', async () => {
  const { show, add, requests } = createWorld();
  show('passed')();
  show('seen');
  await jest.advanceTimersByTimeAsync(100);
  expect(requests).toEqual([['seen']]);
  add(eventOf('passed', 1));
  show('passed');
  await jest.advanceTimersByTimeAsync(100);
  expect(requests).toEqual([['seen'], ['passed']]);
});

test('live checks that arrive during a request are kept', async () => {
  const { show, add, respond, seconds } = createWorld();
  show('a');
  add(eventOf('a', 2));
  await jest.advanceTimersByTimeAsync(100);
  add(eventOf('a', 3), eventOf('a', 4));
  expect(seconds('a')).toBeNull();
  await respond([{ monitorId: 'a', checks: [checkOf(1), checkOf(2), checkOf(3)] }]);
  expect(seconds('a')).toEqual([1, 2, 3, 4]);
});

test('live checks of other monitors and other URLs change nothing', async () => {
  const { show, add, respond, queryClient } = createWorld();
  show('a');
  await jest.advanceTimersByTimeAsync(100);
  await respond([{ monitorId: 'a', checks: [checkOf(1)] }]);
  const { queryKey } = recentChecksQuery('a');
  const before = queryClient.getQueryData(queryKey);
  add(eventOf('b', 2), eventOf('a', 1), eventOf('a', 5, 'https://preview.example'));
  expect(queryClient.getQueryData(queryKey)).toBe(before);
  expect(queryClient.getQueryCache().getAll()).toHaveLength(1);
});

test('monitors stay up to date for a minute after they leave the screen', async () => {
  const { show, add, requests, respond, seconds } = createWorld();
  const hide = show('a');
  await jest.advanceTimersByTimeAsync(100);
  await respond([{ monitorId: 'a', checks: [checkOf(1)] }]);
  hide();
  await jest.advanceTimersByTimeAsync(50_000);
  add(eventOf('a', 2));
  show('a')();
  expect(seconds('a')).toEqual([1, 2]);
  expect(requests).toHaveLength(1);
  await jest.advanceTimersByTimeAsync(61_000);
  expect(seconds('a')).toBeNull();
});

test('after a reset the monitors on screen are loaded again', async () => {
  const { show, add, requests, respond, seconds, queryClient } = createWorld();
  show('a');
  await jest.advanceTimersByTimeAsync(100);
  await respond([{ monitorId: 'a', checks: [checkOf(1)] }]);
  void queryClient.invalidateQueries();
  add(eventOf('a', 3));
  await jest.advanceTimersByTimeAsync(100);
  expect(requests).toEqual([['a'], ['a']]);
  await respond([{ monitorId: 'a', checks: [checkOf(1), checkOf(2)] }]);
  expect(seconds('a')).toEqual([1, 2, 3]);
});

test('a live check does not hide that a reload has failed', async () => {
  const { show, add, requests, respond, seconds, queryClient } = createWorld();
  show('a');
  await jest.advanceTimersByTimeAsync(100);
  await respond([{ monitorId: 'a', checks: [checkOf(1)] }]);
  void queryClient.invalidateQueries();
  await jest.advanceTimersByTimeAsync(100);
  await respond(new Error('no connection'));
  add(eventOf('a', 3));
  await jest.advanceTimersByTimeAsync(100);
  expect(requests).toHaveLength(3);
  await respond([{ monitorId: 'a', checks: [checkOf(1), checkOf(2)] }]);
  expect(seconds('a')).toEqual([1, 2, 3]);
});
