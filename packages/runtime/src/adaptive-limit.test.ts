import { expect, test } from '@jest/globals';
import { AdaptiveLimit } from './adaptive-limit.ts';

test('the limit falls below the work in progress during an overload, but not below a minimum', () => {
  const limit = new AdaptiveLimit(500, 50);
  expect([limit.reduce(200), limit.reduce(180)]).toEqual([150, 112]);
  for (let sample = 0; sample < 10; sample += 1) limit.reduce(100);
  expect([limit.reduce(50), limit.current]).toEqual([50, 50]);
});

test('the limit rises again to its maximum', () => {
  const limit = new AdaptiveLimit(120, 50);
  limit.reduce(80);
  expect(limit.raise()).toBe(66);
  for (let sample = 0; sample < 10; sample += 1) limit.raise();
  expect([limit.raise(), limit.current]).toEqual([120, 120]);
});

test('the limit may be low at first and rise by a given number', () => {
  expect(new AdaptiveLimit(500, 50, 50).raise(1)).toBe(51);
});

test('a maximum below the minimum is kept', () => {
  const limit = new AdaptiveLimit(10, 50);
  expect([limit.reduce(10), limit.raise()]).toEqual([10, 10]);
});
