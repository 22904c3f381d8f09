import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { stopClock, type StoppedClock } from '../testing/stopped-clock.ts';
import { waitFor } from './wait-for.ts';

let clock: StoppedClock;
beforeEach(() => {
  clock = stopClock();
});
afterEach(() => clock.restore());

describe('waitFor', () => {
  test('polls once more when the time is over', async () => {
    let polls = 0;
    const find = (): Promise<null> => Promise.resolve(null).finally(() => (polls += 1));
    const passTheTime = (): boolean => {
      if (polls === 2) clock.advance(60_000);
      return true;
    };
    expect(await waitFor({ find, forMs: 60_000, isWanted: passTheTime })).toBeNull();
    expect(polls).toBe(3);
  });

  test('stops if the client has disconnected, or with any result, including undefined', async () => {
    let polls = 0;
    const find = (): Promise<null> => Promise.resolve(null).finally(() => (polls += 1));
    expect(await waitFor({ find, forMs: 60_000, isWanted: () => polls < 2 })).toBeNull();
    expect(polls).toBe(2);
    const results = [null, undefined];
    const gone = { find: () => Promise.resolve(results.shift()), forMs: 60_000, isWanted: () => true };
    expect(await waitFor(gone)).toBeUndefined();
  });
});
