import { expect, test } from '@jest/globals';
import { Tally } from './tally.ts';

test('a route that refuses every request is reported', () => {
  const tally = new Tally();
  for (let time = 0; time < 100; time += 1) {
    tally.addPossible('POST /refuses', false);
    tally.addPossible('POST /works', time === 99);
    if (time < 10) tally.addPossible('POST /seldom', false);
  }
  expect(tally.neverSucceeded()).toEqual([
    'POST /refuses refused all 100 requests that schema and model allow',
  ]);
});
