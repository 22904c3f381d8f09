import { afterEach, expect, jest, test } from '@jest/globals';
import { QueryClient } from '@tanstack/react-query';
import type { Event, StatusChange } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { monitorsQuery } from '../monitors/queries.ts';
import { applyToCache, updateMonitors } from './apply-to-cache.ts';
import type { LiveBatch, LiveStream } from './live-stream.ts';

const EARLY = '2026-03-01T12:00:00.000Z';
const LATE = '2026-03-01T12:05:00.000Z';
const LATER = '2026-03-01T12:10:00.000Z';

function monitorOf(id: string): Monitor {
  return { id, status: 'UP', statusSince: LATE, lastCheckedAt: LATE } as Monitor;
}

function batchOf(batch: {
  checks?: Partial<Event>[];
  statusChanges?: Partial<StatusChange>[];
  reset?: true;
}): LiveBatch {
  const checks = (batch.checks ?? []).map((check) => ({ url: null, ...check }));
  return { statusChanges: [], reset: false, ...batch, checks } as LiveBatch;
}

let stop = (): void => {};
afterEach(() => {
  stop();
  jest.useRealTimers();
});

/** A list in a cache, with a stream that says what the test says. */
function newCache(updatedAt: number): {
  queryClient: QueryClient;
  say: (batch: LiveBatch) => void;
  /** The stream opens, and goes on from nowhere. */
  open: () => void;
  isInvalidated: () => boolean | undefined;
} {
  const queryClient = new QueryClient({ defaultOptions: { queries: { gcTime: Infinity } } });
  queryClient.setQueryData(monitorsQuery.queryKey, [monitorOf('a')], { updatedAt });
  const listeners: ((batch: LiveBatch) => void)[] = [];
  const openings: (() => void)[] = [];
  const stream = {
    state: 'live',
    resumed: false,
    onBatch: (listener: (batch: LiveBatch) => void) => {
      listeners.push(listener);
      return () => {};
    },
    onState: (listener: () => void) => {
      openings.push(listener);
      return () => {};
    },
  };
  stop = applyToCache(stream as unknown as LiveStream, queryClient);
  return {
    queryClient,
    say: (batch) => listeners.forEach((listener) => listener(batch)),
    open: () => openings.forEach((listener) => listener()),
    isInvalidated: () => queryClient.getQueryState(monitorsQuery.queryKey)?.isInvalidated,
  };
}

test('a check and a change count for their monitor alone', () => {
  const monitors = [monitorOf('a'), monitorOf('b'), monitorOf('c')];
  const [a, b, c] = updateMonitors(
    monitors,
    batchOf({
      checks: [{ monitorId: 'b', timestamp: LATER }],
      statusChanges: [{ monitorId: 'c', status: 'DOWN', timestamp: LATER }],
    }),
  );
  expect(a).toBe(monitors[0]);
  expect(b).toEqual({ ...monitorOf('b'), lastCheckedAt: LATER });
  expect(c).toEqual({ ...monitorOf('c'), status: 'DOWN', statusSince: LATER });
});

test('what is replayed from before the list was loaded changes nothing', () => {
  const old = batchOf({
    checks: [{ monitorId: 'a', timestamp: EARLY }],
    statusChanges: [{ monitorId: 'a', status: 'DOWN', timestamp: EARLY }],
  });
  expect(updateMonitors([monitorOf('a')], old)).toEqual([monitorOf('a')]);
});

test('the list is as old as when it was loaded, however much the stream says', () => {
  const { queryClient, say } = newCache(1_000);
  say(batchOf({ checks: [{ monitorId: 'a', timestamp: LATER }] }));
  const state = queryClient.getQueryState(monitorsQuery.queryKey);
  expect(state?.data?.[0]?.lastCheckedAt).toBe(LATER);
  expect([state?.dataUpdatedAt, state?.isInvalidated]).toEqual([1_000, false]);
});

test('a monitor that the list does not have makes it load again, once', () => {
  jest.useFakeTimers();
  const { queryClient, say, isInvalidated } = newCache(1_000);
  const unknown = batchOf({ checks: [{ monitorId: 'new', timestamp: LATER }] });
  say(unknown);
  jest.advanceTimersByTime(10_000);
  expect(isInvalidated()).toBe(true);
  queryClient.setQueryData(monitorsQuery.queryKey, [monitorOf('a')]);
  say(unknown);
  jest.advanceTimersByTime(10_000);
  expect(isInvalidated()).toBe(false);
});

test('a list that is to be loaded again stays so, whatever comes until then', () => {
  const { say, isInvalidated } = newCache(1_000);
  say(batchOf({ reset: true }));
  say(batchOf({ checks: [{ monitorId: 'a', timestamp: LATER }] }));
  expect(isInvalidated()).toBe(true);
});

test('a stream that goes on from nowhere makes the list load again', () => {
  const { open, isInvalidated } = newCache(1_000);
  open();
  expect(isInvalidated()).toBe(true);
});

test('a list that was read before a change does not undo it when it arrives', async () => {
  const { queryClient, say } = newCache(1_000);
  const { queryKey } = monitorsQuery;
  const loading = queryClient.fetchQuery({
    queryKey,
    queryFn: async () => {
      say(batchOf({ statusChanges: [{ monitorId: 'a', status: 'DOWN', timestamp: LATER }] }));
      return [monitorOf('a')];
    },
  });
  await loading;
  expect(queryClient.getQueryData(queryKey)?.[0]).toMatchObject({ status: 'DOWN', statusSince: LATER });
});

test('a check of another URL is none of the monitor', () => {
  const checks = [{ monitorId: 'a', timestamp: LATER, url: 'https://preview.example.com' }];
  expect(updateMonitors([monitorOf('a')], batchOf({ checks }))).toEqual([monitorOf('a')]);
});
