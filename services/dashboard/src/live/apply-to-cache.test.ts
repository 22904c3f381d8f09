import { expect, test } from '@jest/globals';
import type { Event } from '@tocsin/contracts/event';
import type { Monitor } from '@tocsin/contracts/monitor';
import type { StatusChange } from '@tocsin/contracts/status-change';
import { QueryClient } from '@tanstack/react-query';
import { monitorsQuery } from '../monitors/queries.ts';
import { applyToCache, updateMonitors } from './apply-to-cache.ts';
import type { LiveBatch, LiveStream } from './live-stream.ts';

const EARLY = '2026-03-01T12:00:00.000Z';
const LATE = '2026-03-01T12:05:00.000Z';
const LATER = '2026-03-01T12:10:00.000Z';

function monitorOf(id: string): Monitor {
  return { id, status: 'UP', statusSince: LATE, lastCheckedAt: LATE } as Monitor;
}

function batchOf(batch: { checks?: Partial<Event>[]; statusChanges?: Partial<StatusChange>[] }): LiveBatch {
  return { checks: [], statusChanges: [], reset: false, ...batch } as LiveBatch;
}

/** A list in a cache, with a stream that says what the test says. */
function newCache(updatedAt: number): { queryClient: QueryClient; say: (batch: LiveBatch) => void } {
  const queryClient = new QueryClient({ defaultOptions: { queries: { gcTime: Infinity } } });
  queryClient.setQueryData(monitorsQuery.queryKey, [monitorOf('a')], { updatedAt });
  const listeners: ((batch: LiveBatch) => void)[] = [];
  const stream = { onBatch: (listener: (batch: LiveBatch) => void) => listeners.push(listener) };
  applyToCache(stream as unknown as LiveStream, queryClient);
  return { queryClient, say: (batch) => listeners.forEach((listener) => listener(batch)) };
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
  const { queryClient, say } = newCache(1_000);
  const invalidated = (): boolean | undefined =>
    queryClient.getQueryState(monitorsQuery.queryKey)?.isInvalidated;
  say(batchOf({ checks: [{ monitorId: 'new', timestamp: LATER }] }));
  expect(invalidated()).toBe(true);
  queryClient.setQueryData(monitorsQuery.queryKey, [monitorOf('a')]);
  say(batchOf({ checks: [{ monitorId: 'new', timestamp: LATER }] }));
  expect(invalidated()).toBe(false);
});
