import { expect, test } from '@jest/globals';
import { AdaptiveLimit } from './adaptive-limit.ts';

test('the limit falls below the work in progress during an overload, but not below a minimum', () => {
  const limit = new AdaptiveLimit(500, 50);
  expect([limit.reduce(200), limit.reduce(180), limit.isLowest]).toEqual([150, 112, false]);
  for (let sample = 0; sample < 10; sample += 1) limit.reduce(100);
  expect([limit.reduce(50), limit.isLowest]).toEqual([50, true]);
});

test('the limit rises again to its maximum', () => {
  const limit = new AdaptiveLimit(120, 50);
  limit.reduce(80);
  expect(limit.raise()).toBe(66);
  for (let sample = 0; sample < 10; sample += 1) limit.raise();
  expect(limit.raise()).toBe(120);
});

test('a maximum below the minimum is kept', () => {
  const limit = new AdaptiveLimit(10, 50);
  expect([limit.reduce(10), limit.raise()]).toEqual([10, 10]);
});
