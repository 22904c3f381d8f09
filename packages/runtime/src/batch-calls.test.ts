import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { shareQueries } from './share-queries.ts';

interface Query {
  readonly keys: readonly number[];
  readonly end: () => void;
  readonly fail: (error: Error) => void;
}

/** Queries that run until they are ended; the result of a key is ten times the key. */
function open(limits: { maxQueries: number; maxKeys: number }) {
  const queries: Query[] = [];
  const find = shareQueries<number, number>(
    (keys) =>
      new Promise((resolve, reject) =>
        queries.push({ keys, end: () => resolve(keys.map((key) => key * 10)), fail: reject }),
      ),
    limits,
  );
  return { find, queries, keys: () => queries.map((query) => query.keys) };
}

test('calls of one turn share a query', async () => {
  const { find, queries, keys } = open({ maxQueries: 2, maxKeys: 10 });
  const found = Promise.all([1, 2, 3].map(find));
  await nextTurn();
  expect(keys()).toEqual([[1, 2, 3]]);
  queries[0]?.end();
  expect(await found).toEqual([10, 20, 30]);
});

test('calls that come while as many queries run as may share the next ones', async () => {
  const { find, queries, keys } = open({ maxQueries: 2, maxKeys: 3 });
  const found: Promise<number>[] = [];
  for (let key = 1; key <= 6; key += 1) {
    found.push(find(key));
    await nextTurn();
  }
  expect(keys()).toEqual([[1], [2]]);
  queries[1]?.end();
  await found[1];
  await nextTurn();
  expect(keys()).toEqual([[1], [2], [3, 4, 5]]);
  queries[0]?.end();
  queries[2]?.end();
  await Promise.all(found.slice(0, 5));
  await nextTurn();
  queries[3]?.end();
  expect(await Promise.all(found)).toEqual([10, 20, 30, 40, 50, 60]);
});

test('an error is that of each call of its query, and others continue', async () => {
  const { find, queries } = open({ maxQueries: 1, maxKeys: 2 });
  const found = Promise.allSettled([1, 2, 3].map(find));
  await nextTurn();
  queries[0]?.fail(new Error('down'));
  await nextTurn();
  queries[1]?.end();
  expect((await found).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
});
