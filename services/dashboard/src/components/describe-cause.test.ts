import { expect, test } from '@jest/globals';
import { describeCause } from './describe-cause.ts';

test.each([
  ['TIMEOUT', 'No answer in time'],
  ['HTTP_503', 'Answered 503'],
  ['UNKNOWN_ERROR', 'Check failed'],
  [null, 'Cause not known'],
] as const)('%s reads as "%s"', (cause, words) => {
  expect(describeCause(cause)).toBe(words);
});
