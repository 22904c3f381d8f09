import { expect, test } from '@jest/globals';
import { Tally } from './run.ts';

test('a route that refuses whatever it is asked is named', () => {
  const tally = new Tally();
  for (let time = 0; time < 100; time += 1) {
    tally.hope('POST /refuses', false);
    tally.hope('POST /works', time === 99);
    if (time < 10) tally.hope('POST /seldom', false);
  }
  expect(tally.neverWorked()).toEqual(['POST /refuses refused all of 100 requests that nothing forbids']);
});
