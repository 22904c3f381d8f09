import { expect, test } from '@jest/globals';
import { describeOutcome } from './delivery-text.ts';

test.each([
  ['delivered', 1, null, 'delivered'],
  ['delivered', 3, null, 'delivered after 3 attempts'],
  ['pending', 0, null, 'not sent yet'],
  ['pending', 2, null, 'not delivered yet after 2 attempts'],
  ['pending', 7, 'timed out', 'not delivered yet after 7 attempts: Timed out'],
  ['failed', 1, 'connection refused', 'failed after 1 attempt: Connection refused'],
  ['held', 0, null, 'held: the channel is disabled'],
  ['held', 1, 'timed out', 'held: the channel is disabled'],
] as const)('%s after %d attempts with the error %j', (state, attemptCount, error, text) => {
  expect(describeOutcome({ state, attemptCount, error })).toBe(text);
});
