import { expect, test } from '@jest/globals';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import type { Event } from '@tocsin/contracts/monitors/events';
import { addToList } from '../../../live/live-query.ts';
import { eventTailQuery } from '../../queries.ts';
import { eventAt } from '../../testing/records.ts';
import { countNewer, mergeEvents, MAX_EVENTS } from './event-tail.ts';

/** A list of what the API has recorded. Its response is late, so the stream delivers events first. */
async function createWorld(...recorded: Event[]) {
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const limits: number[] = [];
  let failure: Error | null = null;
  const options = eventTailQuery('m', async (_id, limit) => {
    limits.push(limit);
    await Promise.resolve();
    if (failure) throw failure;
    return recorded.slice(-limit);
  });
  const { queryKey } = options;
  const observer = new QueryObserver(queryClient, options);
  observer.subscribe(() => undefined);
  await queryClient.fetchQuery(options);
  return {
    recorded,
    limits,
    addLive: (...events: Event[]) => addToList(queryClient, queryKey, events),
    /** Loads the list again, as after a reset. */
    reload: () => queryClient.invalidateQueries({ queryKey }),
    fail: (error: Error | null) => (failure = error),
    seconds: () => (queryClient.getQueryData(queryKey) ?? []).map(({ id }) => Number(id)),
  };
}

test('a reload adds the missed events, even if newer ones have arrived', async () => {
  const { recorded, limits, addLive, reload, seconds } = await createWorld(eventAt(1));
  recorded.push(...[2, 3, 4, 5].map((second) => eventAt(second)));
  addLive(eventAt(5));
  const reloaded = reload();
  addLive(eventAt(6));
  expect(seconds()).toEqual([6, 5, 1]);
  await reloaded;
  expect(limits).toEqual([50, 200]);
  expect(seconds()).toEqual([6, 5, 4, 3, 2, 1]);
});

test('after a long break the list has the latest events, without gaps', async () => {
  const { recorded, reload, seconds } = await createWorld(eventAt(1));
  for (let second = 2; second <= 700; second += 1) recorded.push(eventAt(second));
  await reload();
  expect(seconds()).toEqual(Array.from({ length: 200 }, (_, index) => 700 - index));
});

test('after a failed reload, the next live event loads the missed events', async () => {
  const { recorded, addLive, reload, fail, limits, seconds } = await createWorld(eventAt(1));
  fail(new Error('unavailable'));
  await reload();
  recorded.push(eventAt(2), eventAt(3));
  fail(null);
  addLive(eventAt(3));
  expect(seconds()).toEqual([3, 1]);
  await reload();
  expect(limits.length).toBeGreaterThanOrEqual(3);
  expect(seconds()).toEqual([3, 2, 1]);
});

test('mergeEvents sorts newest first without duplicates, and keeps the list if nothing is new', () => {
  const shown = [eventAt(3), eventAt(1)];
  const merged = mergeEvents(shown, [eventAt(2), eventAt(4), eventAt(3), eventAt(4)]);
  expect(merged.map(({ id }) => id)).toEqual(['4', '3', '2', '1']);
  expect(merged[1]).toBe(shown[0]);
  expect(mergeEvents(shown, [eventAt(1)])).toBe(shown);
});

test('mergeEvents drops the oldest events', () => {
  const events = Array.from({ length: MAX_EVENTS + 1 }, (_, index) => eventAt(index));
  const merged = mergeEvents(mergeEvents([], events.slice(0, -1)), events.slice(-1));
  expect(merged).toEqual(events.slice(1).toReversed());
});

test('countNewer counts the events since the pause', () => {
  const shown = [eventAt(2), eventAt(1)];
  expect(countNewer(mergeEvents(shown, [eventAt(3), eventAt(4)]), shown)).toBe(2);
  expect([countNewer(shown, shown), countNewer(shown, [])]).toEqual([0, 2]);
});
