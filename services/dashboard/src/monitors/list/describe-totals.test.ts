import { expect, test } from '@jest/globals';
import { describeTotals } from './describe-totals.ts';

const NONE = { DOWN: 0, PENDING: 0, MAINTENANCE: 0, UP: 0 };

test.each([
  [{}, 'Nothing is watched yet'],
  [{ UP: 1 }, 'The one monitor is up'],
  [{ UP: 12 }, 'All 12 are up'],
  [{ DOWN: 1 }, '1 down'],
  [{ DOWN: 3, PENDING: 1, MAINTENANCE: 2, UP: 90 }, '3 down, 1 pending, 2 in maintenance, 90 up'],
  [{ MAINTENANCE: 2, UP: 90 }, '2 in maintenance, 90 up'],
])('%j: %s', (counts, words) => {
  expect(describeTotals({ ...NONE, ...counts })).toBe(words);
});
