import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { batchCalls } from './batch-calls.ts';

interface Query {
  readonly keys: readonly number[];
  readonly end: () => void;
  readonly fail: (error: Error) => void;
}

/** Batches run until the test ends them. The result of a key is ten times the key. */
function open(limits: { maxConcurrent: number; maxSize: number }) {
  const queries: Query[] = [];
  const find = batchCalls<number, number>(
    (keys) =>
      new Promise((resolve, reject) =>
        queries.push({ keys, end: () => resolve(keys.map((key) => key * 10)), fail: reject }),
      ),
    limits,
  );
  return { find, queries, keys: () => queries.map((query) => query.keys) };
}

test('calls in the same turn of the event loop share a batch', async () => {
  const { find, queries, keys } = open({ maxConcurrent: 2, maxSize: 10 });
  const found = Promise.all([1, 2, 3].map(find));
  await nextTurn();
  expect(keys()).toEqual([[1, 2, 3]]);
  queries[0]?.end();
  expect(await found).toEqual([10, 20, 30]);
});

test('calls wait, and share the next batches, while the maximum number of batches runs', async () => {
  const { find, queries, keys } = open({ maxConcurrent: 2, maxSize: 3 });
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

test('the error of a batch rejects its calls only', async () => {
  const { find, queries } = open({ maxConcurrent: 1, maxSize: 2 });
  const found = Promise.allSettled([1, 2, 3].map(find));
  await nextTurn();
  queries[0]?.fail(new Error('down'));
  await nextTurn();
  queries[1]?.end();
  expect((await found).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
});
