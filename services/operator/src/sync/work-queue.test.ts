import { expect, test } from '@jest/globals';
import { WorkQueue } from './work-queue.ts';

test('a namespace is worked on once at a time, when it is due, and the earliest one first', () => {
  const queue = new WorkQueue();
  queue.add('b', 200);
  queue.add('a', 300);
  queue.add('a', 100);
  expect(queue.take(50, 4)).toBeNull();
  expect([queue.take(250, 4), queue.take(250, 4), queue.take(250, 4)]).toEqual(['a', 'b', null]);
  queue.add('a', 100);
  expect(queue.take(250, 4)).toBeNull();
  queue.done('a');
  expect([queue.take(250, 1), queue.pending(250)]).toEqual([null, 2]);
  expect(queue.take(250, 4)).toBe('a');
});
