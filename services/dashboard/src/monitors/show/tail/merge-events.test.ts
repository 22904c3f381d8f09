import { expect, test } from '@jest/globals';
import { countNewer, latestTimestamp, mergeEvents, MOST_EVENTS } from './merge-events.ts';
import { eventAt } from './testing.ts';

test('events are shown newest first, each once', () => {
  const shown = [eventAt(3), eventAt(1)];
  const merged = mergeEvents(shown, [eventAt(2), eventAt(4), eventAt(3), eventAt(4)]);
  expect(merged.map(({ id }) => id)).toEqual(['4', '3', '2', '1']);
  expect(merged[1]).toBe(shown[0]);
});

test('the list stays the same object where nothing is new', () => {
  const shown = [eventAt(2), eventAt(1)];
  expect(mergeEvents(shown, [eventAt(1)])).toBe(shown);
  expect(mergeEvents(shown, [])).toBe(shown);
});

test('the list is bounded, and it is the oldest that go', () => {
  const shown = mergeEvents(
    [],
    Array.from({ length: MOST_EVENTS }, (_, index) => eventAt(index)),
  );
  const merged = mergeEvents(shown, [eventAt(MOST_EVENTS)]);
  expect(merged).toHaveLength(MOST_EVENTS);
  expect(merged[0]?.id).toBe(String(MOST_EVENTS));
  expect(merged.at(-1)?.id).toBe('1');
});

test('the latest timestamp is found in any order', () => {
  expect(latestTimestamp([])).toBeNull();
  expect(latestTimestamp([eventAt(1), eventAt(9), eventAt(4)])).toBe(eventAt(9).timestamp);
});

test('what came while paused is counted', () => {
  const shown = [eventAt(2), eventAt(1)];
  expect(countNewer(mergeEvents(shown, [eventAt(3), eventAt(4)]), shown)).toBe(2);
  expect(countNewer(shown, shown)).toBe(0);
  expect(countNewer(shown, [])).toBe(2);
});
