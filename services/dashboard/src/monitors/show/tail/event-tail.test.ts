import { expect, test } from '@jest/globals';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { LiveBatch, LiveStateName } from '../../../live/live-stream.ts';
import { eventAt } from '../../testing/records.ts';
import {
  countNewer,
  EventTail,
  latestTimestamp,
  type LoadEvents,
  mergeEvents,
  MAX_EVENTS,
} from './event-tail.ts';

/** A stream and an API that the test controls. */
function createWorld(recorded: Event[] = []) {
  const batchListeners = new Set<(batch: LiveBatch) => void>();
  const stateListeners = new Set<() => void>();
  const asked: { limit: number; since?: string }[] = [];
  let state: LiveStateName = 'live';
  let failure: Error | null = null;
  let gate: Promise<void> = Promise.resolve();
  const load: LoadEvents = async (query) => {
    asked.push(query);
    const { limit, since } = query;
    await gate;
    if (failure) throw failure;
    const sorted = [...recorded].sort((one, other) => (one.timestamp < other.timestamp ? -1 : 1));
    return since === undefined
      ? sorted.slice(-limit)
      : sorted.filter(({ timestamp }) => timestamp > since).slice(0, limit);
  };
  const tail = new EventTail(
    'm',
    {
      get state() {
        return state;
      },
      onBatch: (listener) => {
        batchListeners.add(listener);
        return () => batchListeners.delete(listener);
      },
      onState: (listener) => {
        stateListeners.add(listener);
        return () => stateListeners.delete(listener);
      },
    },
    load,
  );
  return {
    tail,
    asked,
    recorded,
    ids: () => tail.snapshot.events.map(({ id }) => Number(id)),
    listeners: () => batchListeners.size + stateListeners.size,
    fail: (error: Error | null) => (failure = error),
    holdAnswers: () => {
      const { promise, resolve } = createGate();
      gate = promise;
      return resolve;
    },
    setState: (next: LiveStateName) => {
      state = next;
      for (const listener of stateListeners) listener();
    },
    stream: (checks: Event[], reset = false) => {
      for (const listener of batchListeners) listener({ checks, statusChanges: [], reset });
    },
  };
}

test('loads the first page and adds the events of the stream', async () => {
  const world = createWorld([eventAt(1), eventAt(2)]);
  expect(world.tail.snapshot.loading).toBe(true);
  world.tail.start();
  await world.tail.catchUp();
  world.stream([eventAt(3), eventAt(4, 'another')]);
  expect(world.ids()).toEqual([3, 2, 1]);
  expect(world.tail.snapshot).toMatchObject({ loading: false, error: null });
  expect(world.asked).toEqual([{ limit: 50 }]);
});

test('a reset loads the missed events, even if newer ones have arrived', async () => {
  const world = createWorld([eventAt(1)]);
  world.tail.start();
  await world.tail.catchUp();
  world.stream([eventAt(2)]);
  world.recorded.push(...[2, 3, 4, 5, 6].map((second) => eventAt(second)));
  const answer = world.holdAnswers();
  world.stream([eventAt(5)], true);
  world.stream([eventAt(6)]);
  expect(world.ids()).toEqual([6, 5, 2, 1]);
  answer();
  await world.tail.catchUp();
  expect(world.asked.at(-1)).toEqual({ limit: 500, since: eventAt(2).timestamp });
  expect(world.ids()).toEqual([6, 5, 4, 3, 2, 1]);
});

test('a reconnected stream is followed by a catch-up', async () => {
  const world = createWorld([eventAt(1)]);
  world.tail.start();
  await world.tail.catchUp();
  world.setState('lost');
  world.recorded.push(eventAt(2), eventAt(3));
  world.stream([eventAt(3)]);
  world.setState('live');
  await world.tail.catchUp();
  expect(world.asked.at(-1)).toEqual({ limit: 500, since: eventAt(1).timestamp });
  expect(world.ids()).toEqual([3, 2, 1]);
});

test('a break during a catch-up starts another', async () => {
  const world = createWorld([eventAt(1)]);
  const answer = world.holdAnswers();
  world.tail.start();
  world.stream([], true);
  answer();
  await world.tail.catchUp();
  expect(world.asked).toEqual([{ limit: 50 }, { limit: 500, since: eventAt(1).timestamp }]);
});

test('after a long break only the latest events are loaded, without gaps', async () => {
  const world = createWorld([eventAt(1)]);
  world.tail.start();
  await world.tail.catchUp();
  for (let second = 2; second <= 700; second += 1) world.recorded.push(eventAt(second));
  world.stream([], true);
  await world.tail.catchUp();
  expect(world.ids()).toEqual(Array.from({ length: 200 }, (_, index) => 700 - index));
});

test('a failed catch-up is retried from the same event', async () => {
  const world = createWorld([eventAt(1)]);
  world.tail.start();
  await world.tail.catchUp();
  world.fail(new Error('away'));
  world.stream([], true);
  await world.tail.catchUp();
  world.recorded.push(eventAt(2), eventAt(3));
  world.stream([eventAt(3)]);
  expect(world.tail.snapshot.error).toEqual(new Error('away'));
  expect(world.ids()).toEqual([3, 1]);
  world.fail(null);
  await world.tail.catchUp();
  expect(world.tail.snapshot.error).toBeNull();
  expect(world.ids()).toEqual([3, 2, 1]);
});

test('a monitor without events starts with those of the stream', async () => {
  const world = createWorld();
  world.tail.start();
  await world.tail.catchUp();
  expect(world.tail.snapshot).toEqual({ events: [], loading: false, error: null });
  world.stream([eventAt(1)]);
  expect(world.ids()).toEqual([1]);
});

test('stopping removes all listeners', async () => {
  const world = createWorld();
  const end = world.tail.start();
  await world.tail.catchUp();
  end();
  expect(world.listeners()).toBe(0);
});

function createGate(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

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

test('latestTimestamp accepts any order', () => {
  expect(latestTimestamp([])).toBeNull();
  expect(latestTimestamp([eventAt(1), eventAt(9), eventAt(4)])).toBe(eventAt(9).timestamp);
});

test('countNewer counts the events since the pause', () => {
  const shown = [eventAt(2), eventAt(1)];
  expect(countNewer(mergeEvents(shown, [eventAt(3), eventAt(4)]), shown)).toBe(2);
  expect(countNewer(shown, shown)).toBe(0);
  expect(countNewer(shown, [])).toBe(2);
});
