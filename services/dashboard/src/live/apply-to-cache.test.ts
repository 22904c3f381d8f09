import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { QueryClient } from '@tanstack/react-query';
import { monitorQuery, monitorsQuery } from '../monitors/queries.ts';
import { monitorWith } from '../monitors/testing/records.ts';
import { regionsQuery } from '../regions/regions.ts';
import { applyToCache } from './apply-to-cache.ts';
import type { LiveBatch, LiveStream } from './live-stream.ts';
import { batchOf, LATER, LATEST, monitorOf } from './testing/batches.ts';

let stop = (): void => {};
beforeEach(() => {
  // No request gets a response.
  Object.assign(globalThis, { fetch: () => new Promise(() => {}) });
});
afterEach(() => {
  stop();
  jest.useRealTimers();
});

/** A list that was cached then, or is not cached, and a stream that the test controls. */
function newCache(updatedAt: number | null): {
  queryClient: QueryClient;
  deliver: (batch: LiveBatch) => void;
  /** The stream is live, and does not resume. */
  begin: () => void;
  /** The positions at which the stream was opened. */
  positions: (string | undefined)[];
  isInvalidated: () => boolean | undefined;
} {
  const queryClient = new QueryClient({ defaultOptions: { queries: { gcTime: Infinity } } });
  if (updatedAt !== null) queryClient.setQueryData(monitorsQuery.queryKey, [monitorOf('a')], { updatedAt });
  const listeners: ((batch: LiveBatch) => void)[] = [];
  const openings: (() => void)[] = [];
  const positions: (string | undefined)[] = [];
  const stream = {
    state: 'live',
    resumed: false,
    onBatch: (listener: (batch: LiveBatch) => void) => {
      listeners.push(listener);
      return () => {};
    },
    open: (position?: string) => positions.push(position),
    onDigest: () => () => {},
    onState: (listener: () => void) => {
      openings.push(listener);
      return () => {};
    },
    onIncident: () => () => {},
  };
  stop = applyToCache(stream as unknown as LiveStream, queryClient, () => {});
  return {
    queryClient,
    positions,
    deliver: (batch) => listeners.forEach((listener) => listener(batch)),
    begin: () => openings.forEach((listener) => listener()),
    isInvalidated: () => queryClient.getQueryState(monitorsQuery.queryKey)?.isInvalidated,
  };
}

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

test('an update keeps the list invalidated', () => {
  const { deliver, isInvalidated } = newCache(1_000);
  deliver(batchOf({ reset: true }));
  deliver(batchOf({ checks: [{ monitorId: 'a', timestamp: LATER }] }));
  expect(isInvalidated()).toBe(true);
});

test('a stream that did not resume reloads the list', () => {
  const { begin, isInvalidated } = newCache(1_000);
  begin();
  expect(isInvalidated()).toBe(true);
});

test.each([
  ['where the list was read', LATER, () => Response.json({ position: LATER, monitors: [] })],
  ['now if the list cannot be loaded', undefined, () => new Response('{}', { status: 403 })],
])('the stream begins %s', async (_, position, respond) => {
  let isAsked = false;
  Object.assign(globalThis, { fetch: async () => ((isAsked = true), respond()) });
  const { positions, queryClient } = newCache(null);
  expect(positions).toEqual([]);
  while (positions.length === 0) await new Promise(setImmediate);
  expect([isAsked, positions]).toEqual([true, [position]]);
  queryClient.clear();
});
