import { expect, test } from '@jest/globals';
import { Random } from './random.ts';

test('draws differ between purposes and cover their range', () => {
  const one = new Random(1, 'one');
  const other = new Random(1, 'other');
  expect(one.next()).not.toBe(other.next());
  const dice = Array.from({ length: 200 }, () => one.integer(1, 6));
  expect(new Set(dice)).toEqual(new Set([1, 2, 3, 4, 5, 6]));
});
