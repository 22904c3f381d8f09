import { afterEach, expect, jest, test } from '@jest/globals';
import { QueryClient } from '@tanstack/react-query';
import type { Event, StatusChange } from '@tocsin/contracts/monitors/events';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { monitorQuery, monitorsQuery } from '../monitors/queries.ts';
import { monitorWith, overviewWith } from '../monitors/testing/records.ts';
import { regionsQuery } from '../regions/regions.ts';
import { applyToCache, throttleRefresh, updateMonitors } from './apply-to-cache.ts';
import type { LiveBatch, LiveStream } from './live-stream.ts';

const EARLY = '2026-03-01T12:00:00.000Z';
const LATE = '2026-03-01T12:05:00.000Z';
const LATER = '2026-03-01T12:10:00.000Z';
const LATEST = '2026-03-01T12:15:00.000Z';
const DOWN = { status: 'DOWN', errorDetail: 'connection refused', timestamp: LATER } as const;

function monitorOf(id: string): MonitorOverview {
  return overviewWith({ id, statusSince: LATE, lastCheckedAt: LATE });
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

/** A cached list and a stream that the test controls. */
function newCache(updatedAt: number): {
  queryClient: QueryClient;
  deliver: (batch: LiveBatch) => void;
  /** Opens the stream without resuming. */
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
    onIncident: () => () => {},
  };
  stop = applyToCache(stream as unknown as LiveStream, queryClient);
  return {
    queryClient,
    deliver: (batch) => listeners.forEach((listener) => listener(batch)),
    open: () => openings.forEach((listener) => listener()),
    isInvalidated: () => queryClient.getQueryState(monitorsQuery.queryKey)?.isInvalidated,
  };
}

test('updates only the monitors of the batch', () => {
  const monitors = [monitorOf('a'), monitorOf('b'), monitorOf('c')];
  const [a, b, c] = updateMonitors(
    monitors,
    batchOf({
      checks: [{ monitorId: 'b', timestamp: LATER }],
      statusChanges: [{ monitorId: 'c', ...DOWN }],
    }),
  );
  expect(a).toBe(monitors[0]);
  expect(b).toEqual({ ...monitorOf('b'), lastCheckedAt: LATER });
  expect(c).toEqual({
    ...monitorOf('c'),
    status: 'DOWN',
    statusSince: LATER,
    errorDetail: 'connection refused',
  });
});

test('a recovery removes the cause of the outage', () => {
  const [down] = updateMonitors([monitorOf('a')], batchOf({ statusChanges: [{ monitorId: 'a', ...DOWN }] }));
  expect(down?.errorDetail).toBe('connection refused');
  const up = { monitorId: 'a', status: 'UP', errorDetail: null, timestamp: LATER } as const;
  const [recovered] = updateMonitors(down ? [down] : [], batchOf({ statusChanges: [up] }));
  expect(recovered).toMatchObject({ status: 'UP', errorDetail: null });
});

test('an inconclusive check leaves the monitor as it is and reloads the regions', () => {
  jest.useFakeTimers();
  const { queryClient, deliver } = newCache(1_000);
  const { queryKey } = regionsQuery;
  queryClient.setQueryData(queryKey, []);
  deliver(batchOf({ checks: [{ monitorId: 'a', timestamp: LATER, inconclusive: false }] }));
  jest.advanceTimersByTime(10_000);
  expect(queryClient.getQueryState(queryKey)?.isInvalidated).toBe(false);
  deliver(batchOf({ checks: [{ monitorId: 'a', timestamp: LATEST, inconclusive: true }] }));
  expect(queryClient.getQueryData(monitorsQuery.queryKey)?.[0]?.lastCheckedAt).toBe(LATER);
  jest.advanceTimersByTime(10_000);
  expect(queryClient.getQueryState(queryKey)?.isInvalidated).toBe(true);
});

test('ignores replayed records that are older than the list', () => {
  const old = batchOf({
    checks: [{ monitorId: 'a', timestamp: EARLY }],
    statusChanges: [{ monitorId: 'a', ...DOWN, timestamp: EARLY }],
  });
  expect(updateMonitors([monitorOf('a')], old)).toEqual([monitorOf('a')]);
});

test('an update of the stream keeps the age of the list', () => {
  const { queryClient, deliver } = newCache(1_000);
  deliver(batchOf({ checks: [{ monitorId: 'a', timestamp: LATER }] }));
  const state = queryClient.getQueryState(monitorsQuery.queryKey);
  expect(state?.data?.[0]?.lastCheckedAt).toBe(LATER);
  expect([state?.dataUpdatedAt, state?.isInvalidated]).toEqual([1_000, false]);
});

test('an update of the stream changes a cached monitor and keeps its age', () => {
  const { queryClient, deliver } = newCache(1_000);
  const { queryKey } = monitorQuery('b');
  queryClient.setQueryData(
    queryKey,
    { monitor: { ...monitorWith(), id: 'b' }, events: [] },
    { updatedAt: 2_000 },
  );
  deliver(batchOf({ checks: [{ monitorId: 'b', timestamp: LATER }] }));
  const state = queryClient.getQueryState(queryKey);
  expect([state?.data?.monitor.lastCheckedAt, state?.dataUpdatedAt]).toEqual([LATER, 2_000]);
});

test('a monitor that enters or leaves maintenance reloads the maintenance windows', () => {
  jest.useFakeTimers();
  const { queryClient, deliver } = newCache(1_000);
  const queryKey = ['maintenance-windows', 'all'];
  queryClient.setQueryData(queryKey, []);
  const change = { monitorId: 'a', timestamp: LATER, previousStatus: 'UP' } as const;
  deliver(batchOf({ statusChanges: [{ ...change, status: 'DOWN' }] }));
  jest.advanceTimersByTime(10_000);
  expect(queryClient.getQueryState(queryKey)?.isInvalidated).toBe(false);
  deliver(batchOf({ statusChanges: [{ ...change, status: 'MAINTENANCE' }] }));
  jest.advanceTimersByTime(10_000);
  expect(queryClient.getQueryState(queryKey)?.isInvalidated).toBe(true);
});

test('an unknown monitor reloads the list once', () => {
  jest.useFakeTimers();
  const { queryClient, deliver, isInvalidated } = newCache(1_000);
  const unknown = batchOf({ checks: [{ monitorId: 'new', timestamp: LATER }] });
  deliver(unknown);
  jest.advanceTimersByTime(10_000);
  expect(isInvalidated()).toBe(true);
  queryClient.setQueryData(monitorsQuery.queryKey, [monitorOf('a')]);
  deliver(unknown);
  jest.advanceTimersByTime(10_000);
  expect(isInvalidated()).toBe(false);
});

test('an update keeps the list invalidated', () => {
  const { deliver, isInvalidated } = newCache(1_000);
  deliver(batchOf({ reset: true }));
  deliver(batchOf({ checks: [{ monitorId: 'a', timestamp: LATER }] }));
  expect(isInvalidated()).toBe(true);
});

test('a stream that did not resume reloads the list', () => {
  const { open, isInvalidated } = newCache(1_000);
  open();
  expect(isInvalidated()).toBe(true);
});

test('a list that was read before a change does not undo it', async () => {
  const { queryClient, deliver } = newCache(1_000);
  const { queryKey } = monitorsQuery;
  const loading = queryClient.fetchQuery({
    queryKey,
    queryFn: async () => {
      deliver(batchOf({ statusChanges: [{ monitorId: 'a', status: 'DOWN', timestamp: LATER }] }));
      return [monitorOf('a')];
    },
  });
  await loading;
  expect(queryClient.getQueryData(queryKey)?.[0]).toMatchObject({ status: 'DOWN', statusSince: LATER });
});

test('ignores checks of another URL', () => {
  const checks = [{ monitorId: 'a', timestamp: LATER, url: 'https://preview.example.com' }];
  expect(updateMonitors([monitorOf('a')], batchOf({ checks }))).toEqual([monitorOf('a')]);
});

const KEY = ['incidents'];
const EVERY_MS = 1_000;

function countRefreshes(): { queryClient: QueryClient; times: () => number } {
  const queryClient = new QueryClient();
  const invalidate = jest.spyOn(queryClient, 'invalidateQueries').mockResolvedValue();
  return { queryClient, times: () => invalidate.mock.calls.length };
}

test('throttleRefresh refetches once a second, also after the last call', () => {
  jest.useFakeTimers();
  const { queryClient, times } = countRefreshes();
  const { request } = throttleRefresh(queryClient, KEY, EVERY_MS);
  for (let passed = 0; passed < 5_000; passed += 250) {
    request();
    jest.advanceTimersByTime(250);
  }
  jest.advanceTimersByTime(EVERY_MS);
  expect(times()).toBe(5);
});

test('throttleRefresh waits for a running fetch', () => {
  jest.useFakeTimers();
  const { queryClient, times } = countRefreshes();
  const fetching = jest.spyOn(queryClient, 'isFetching').mockReturnValue(1);
  throttleRefresh(queryClient, KEY, EVERY_MS).request();
  jest.advanceTimersByTime(5 * EVERY_MS);
  expect(times()).toBe(0);
  fetching.mockReturnValue(0);
  jest.advanceTimersByTime(EVERY_MS);
  expect(times()).toBe(1);
});

test('throttleRefresh does nothing after it is stopped', () => {
  jest.useFakeTimers();
  const { queryClient, times } = countRefreshes();
  const { request, stop: stopRefreshing } = throttleRefresh(queryClient, KEY, EVERY_MS);
  request();
  stopRefreshing();
  jest.advanceTimersByTime(5 * EVERY_MS);
  expect(times()).toBe(0);
});
