import { expect, test } from '@jest/globals';
import { changesOf } from './history.ts';

function state(names: readonly string[], rolledUntil: number | null) {
  return { partitions: new Map(names.map((name) => [name, 1])), databaseBytes: 1, rolledUntil };
}

test('changesOf counts the partitions that were created, packed and dropped, and the time that was rolled up', () => {
  const changes = changesOf([
    state(['events_1', 'events_2'], null),
    state(['events_1', 'events_2', 'events_3'], 1_000),
    state(['event_blocks_1', 'events_2', 'events_3'], 1_000),
    state(['events_2', 'events_3', 'events_4'], 3_000),
  ]);
  expect(changes).toEqual({ created: 2, packed: 1, expired: 1, rolledMs: 2_000 });
});
