import { expect, test } from '@jest/globals';
import { AdaptiveLimit } from './adaptive-limit.ts';

test('the limit stays while the event loop is in time', () => {
  const limit = new AdaptiveLimit(500);
  expect([limit.next(0, 500), limit.next(49, 500), limit.next(80, 500)]).toEqual([500, 500, 500]);
});

test('the limit falls below the number of running checks while the event loop is late, but not below a minimum', () => {
  const limit = new AdaptiveLimit(500);
  expect([limit.next(150, 200), limit.next(150, 180), limit.next(80, 100)]).toEqual([150, 112, 112]);
  for (let sample = 0; sample < 10; sample += 1) limit.next(150, 100);
  expect(limit.next(150, 50)).toBe(50);
});

test('the limit rises again to its maximum', () => {
  const limit = new AdaptiveLimit(120);
  limit.next(150, 80);
  expect(limit.next(10, 60)).toBe(66);
  for (let sample = 0; sample < 10; sample += 1) limit.next(10, 60);
  expect(limit.next(10, 60)).toBe(120);
});

test('a maximum below the minimum is kept', () => {
  const limit = new AdaptiveLimit(10);
  expect([limit.next(150, 10), limit.next(10, 10)]).toEqual([10, 10]);
});
