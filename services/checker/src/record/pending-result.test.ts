import { describe, expect, test } from '@jest/globals';
import { check } from '../testing/test-recorder.ts';
import { isUrgent, nextUrgentBatchAt } from './pending-result.ts';

describe('nextUrgentBatchAt', () => {
  test('quick urgent batches start 25 ms apart', () => {
    expect(nextUrgentBatchAt(1_000, 1_000)).toBe(1_025);
    expect(nextUrgentBatchAt(1_000, 1_006)).toBe(1_025);
  });

  test('slow batches use a quarter of the time', () => {
    expect(nextUrgentBatchAt(1_000, 1_015)).toBe(1_060);
  });

  test('an urgent result waits at most 100 ms for the next batch', () => {
    expect(nextUrgentBatchAt(1_000, 1_060)).toBe(1_100);
    expect(nextUrgentBatchAt(1_000, 6_000)).toBe(1_100);
  });
});

describe('isUrgent', () => {
  test.each([
    ['a failed check, which may alert', { status: 'DOWN', source: 'schedule' }, true],
    ['a triggered check, whose caller waits', { status: 'UP', source: 'trigger' }, true],
    ['any other check', { status: 'UP', source: 'schedule' }, false],
  ] as const)('%s', (_name, fields, urgent) => {
    expect(isUrgent({ check: { ...check('a'), ...fields } })).toBe(urgent);
  });
});
