import { expect, test } from '@jest/globals';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import type { Event } from '@tocsin/contracts/monitors/events';
import { addToList } from '../../../live/live-query.ts';
import { eventTailQuery } from '../../queries.ts';
import { eventAt } from '../../testing/records.ts';
import { countNewer, mergeEvents, MAX_EVENTS } from './event-tail.ts';

interface World {
  /** What the API has recorded. */
  readonly recorded: Event[];
  readonly limits: number[];
  readonly addLive: (...events: Event[]) => void;
  /** Loads the list again, as after a reset. */
  readonly reload: () => Promise<void>;
  readonly fail: (error: Error | null) => void;
  readonly seconds: () => number[];
}

async function createWorld(...recorded: Event[]): Promise<World> {
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const limits: number[] = [];
  let failure: Error | null = null;
  const options = eventTailQuery('m', async (_id, limit) => {
    limits.push(limit);
    // The response is late: the stream delivers events first.
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
    addLive: (...events) => addToList(queryClient, queryKey, events),
    reload: () => queryClient.invalidateQueries({ queryKey }),
    fail: (error) => (failure = error),
    seconds: () => (queryClient.getQueryData(queryKey) ?? []).map(({ id }) => Number(id)),
  };
}

test('the list has the first page and the events of the stream', async () => {
  const { limits, addLive, seconds } = await createWorld(eventAt(1), eventAt(2));
  addLive(eventAt(3));
  expect(seconds()).toEqual([3, 2, 1]);
  expect(limits).toEqual([50]);
});

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

test('a monitor without events starts with those of the stream', async () => {
  const { addLive, seconds } = await createWorld();
  expect(seconds()).toEqual([]);
  addLive(eventAt(1));
  expect(seconds()).toEqual([1]);
});

test('mergeEvents sorts newest first without duplicates', () => {
  const shown = [eventAt(3), eventAt(1)];
  const merged = mergeEvents(shown, [eventAt(2), eventAt(4), eventAt(3), eventAt(4)]);
  expect(merged.map(({ id }) => id)).toEqual(['4', '3', '2', '1']);
  expect(merged[1]).toBe(shown[0]);
});

test('mergeEvents returns the same list if nothing is new', () => {
  const shown = [eventAt(2), eventAt(1)];
  expect(mergeEvents(shown, [eventAt(1)])).toBe(shown);
  expect(mergeEvents(shown, [])).toBe(shown);
});

test('mergeEvents drops the oldest events', () => {
  const shown = mergeEvents(
    [],
    Array.from({ length: MAX_EVENTS }, (_, index) => eventAt(index)),
  );
  const merged = mergeEvents(shown, [eventAt(MAX_EVENTS)]);
  expect(merged).toHaveLength(MAX_EVENTS);
  expect(merged[0]?.id).toBe(String(MAX_EVENTS));
  expect(merged.at(-1)?.id).toBe('1');
});

test('countNewer counts the events since the pause', () => {
  const shown = [eventAt(2), eventAt(1)];
  expect(countNewer(mergeEvents(shown, [eventAt(3), eventAt(4)]), shown)).toBe(2);
  expect(countNewer(shown, shown)).toBe(0);
  expect(countNewer(shown, [])).toBe(2);
});
