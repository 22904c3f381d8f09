import { expect, test } from '@jest/globals';
import { isDown, transitionsOf } from './flaps.ts';

test.each([
  [0, 0, true],
  [0, 179_999, true],
  [0, 180_000, false],
  [0, 599_999, false],
  [0, 600_000, true],
  [590_000, 0, true],
  [590_000, 170_000, false],
  [590_000, 589_999, false],
])('a target with phase %d is down at %d: %p', (phase, now, expected) => {
  expect(isDown(phase, now)).toBe(expected);
});

test('transitionsOf lists the transitions from the start of a span to before its end', () => {
  expect(transitionsOf(10_000, { from: 190_000, to: 790_000 })).toEqual([
    { at: 190_000, status: 'UP' },
    { at: 610_000, status: 'DOWN' },
  ]);
  expect(transitionsOf(10_000, { from: 190_001, to: 610_000 })).toEqual([]);
});

test('a target changes its state at each transition and at no other time', () => {
  const span = { from: 1_795_000_000_000, to: 1_795_003_600_000 };
  for (const { at, status } of transitionsOf(123_000, span)) {
    expect([isDown(123_000, at), isDown(123_000, at - 1)]).toEqual([status === 'DOWN', status !== 'DOWN']);
  }
  expect(transitionsOf(123_000, span)).toHaveLength(12);
});
