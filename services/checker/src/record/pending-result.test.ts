import { describe, expect, test } from '@jest/globals';
import { nextBatchAt } from './pending-result.ts';

describe('nextBatchAt', () => {
  test('quick batches start 25 ms apart', () => {
    expect(nextBatchAt(1_000, 1_000)).toBe(1_025);
    expect(nextBatchAt(1_000, 1_006)).toBe(1_025);
  });

  test('slow batches use a quarter of the time', () => {
    expect(nextBatchAt(1_000, 1_015)).toBe(1_060);
  });

  test('a result waits at most 100 ms for the next batch', () => {
    expect(nextBatchAt(1_000, 1_060)).toBe(1_100);
    expect(nextBatchAt(1_000, 6_000)).toBe(1_100);
  });
});
