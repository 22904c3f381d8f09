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

/** A cache and a stream that the test controls. @param updatedAt age of the cached list, or null for no list */
function newCache(updatedAt: number | null) {
  const queryClient = new QueryClient({ defaultOptions: { queries: { gcTime: Infinity } } });
  if (updatedAt !== null) queryClient.setQueryData(monitorsQuery.queryKey, [monitorOf('a')], { updatedAt });
  const listeners = new Map<string, (value: unknown) => void>();
  const positions: (string | undefined)[] = [];
  const stream = {
    resumed: false,
    on: (name: string, listener: (value: unknown) => void) => {
      listeners.set(name, listener);
      return () => {};
    },
    open: (position?: string) => positions.push(position),
    listen: () => {},
  };
  stop = applyToCache(stream as unknown as LiveStream, queryClient, () => {});
  return {
    queryClient,
    /** The positions at which the stream was opened. */
    positions,
    deliver: (batch: LiveBatch) => listeners.get('batch')?.(batch),
    /** A region has become late. */
    becomeLate: () => listeners.get('regions')?.(undefined),
    /** The stream is live, and has not resumed. */
    begin: () => listeners.get('state')?.('live'),
    resume: () => {
      stream.resumed = true;
      listeners.get('state')?.('live');
    },
    isInvalidated: () => queryClient.getQueryState(monitorsQuery.queryKey)?.isInvalidated,
  };
}

const CHECK = { monitorId: 'a', timestamp: LATER };
const CHANGE = { ...CHECK, previousStatus: 'UP' } as const;

test.each([
  [
    'the regions after an inconclusive check',
    regionsQuery.queryKey,
    { checks: [CHECK] },
    { checks: [{ ...CHECK, timestamp: LATEST, inconclusive: true }] },
  ],
  [
    'the maintenance windows after a monitor enters or leaves maintenance',
    ['maintenance-windows', 'all'],
    { statusChanges: [{ ...CHANGE, status: 'DOWN' as const }] },
    { statusChanges: [{ ...CHANGE, status: 'MAINTENANCE' as const }] },
  ],
])('reloads %s', (_, queryKey, without, withReload) => {
  jest.useFakeTimers();
  const { queryClient, deliver } = newCache(1_000);
  queryClient.setQueryData(queryKey, []);
  const isReloadedBy = (batch: Parameters<typeof batchOf>[0]): boolean | undefined => {
    deliver(batchOf(batch));
    jest.advanceTimersByTime(10_000);
    return queryClient.getQueryState(queryKey)?.isInvalidated;
  };
  expect([isReloadedBy(without), isReloadedBy(withReload)]).toEqual([false, true]);
});

test('reloads the regions when one has become late, again when no api caches them, and when the stream resumes', () => {
  jest.useFakeTimers();
  const { queryClient, becomeLate, resume } = newCache(1_000);
  const isReloadedBy = (action: () => void): boolean | undefined => {
    queryClient.setQueryData(regionsQuery.queryKey, []);
    action();
    return queryClient.getQueryState(regionsQuery.queryKey)?.isInvalidated;
  };
  expect(isReloadedBy(becomeLate)).toBe(true);
  expect(isReloadedBy(() => jest.advanceTimersByTime(2_000))).toBe(true);
  expect(isReloadedBy(resume)).toBe(true);
});

test('an inconclusive check leaves the monitor as it is', () => {
  const { queryClient, deliver } = newCache(1_000);
  deliver(batchOf({ checks: [{ ...CHECK, inconclusive: true }] }));
  expect(queryClient.getQueryData(monitorsQuery.queryKey)).toEqual([monitorOf('a')]);
});

test('an update of the stream changes a cached list and a cached monitor, and keeps their age', () => {
  const { queryClient, deliver } = newCache(1_000);
  const { queryKey } = monitorQuery('a');
  const cached = { monitor: { ...monitorWith(), id: 'a' }, events: [] };
  queryClient.setQueryData(queryKey, cached, { updatedAt: 2_000 });
  deliver(batchOf({ checks: [{ monitorId: 'a', timestamp: LATER }] }));
  const list = queryClient.getQueryState(monitorsQuery.queryKey);
  expect(list?.data?.[0]?.lastCheckedAt).toBe(LATER);
  expect([list?.dataUpdatedAt, list?.isInvalidated]).toEqual([1_000, false]);
  const monitor = queryClient.getQueryState(queryKey);
  expect([monitor?.data?.monitor.lastCheckedAt, monitor?.dataUpdatedAt]).toEqual([LATER, 2_000]);
});

test('a reset or a stream that did not resume reloads the list, and an update keeps it invalidated', () => {
  const { deliver, isInvalidated } = newCache(1_000);
  deliver(batchOf({ reset: true }));
  deliver(batchOf({ checks: [{ monitorId: 'a', timestamp: LATER }] }));
  expect(isInvalidated()).toBe(true);
  const other = newCache(1_000);
  other.begin();
  expect(other.isInvalidated()).toBe(true);
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
