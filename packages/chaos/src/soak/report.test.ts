import { expect, test } from '@jest/globals';
import { describeTrends, growthViolations, trendsOf } from './report.ts';
import type { Sample } from './sample.ts';

const MB = 1_000_000;
const NO_REFUSALS = { unavailable: 0 };

/** Half an hour with a sample every five seconds, of a checker's heap that grows. */
function samples(growthPerHour: number): [number, Sample][] {
  return Array.from({ length: 361 }, (_, index) => {
    const heap = 50 * MB + (growthPerHour * index) / 720;
    return [
      index * 5_000,
      new Map([
        ['checker 1, heap', heap],
        ['checker 1, files', 40],
        ['redis, used', 3 * MB],
      ]),
    ];
  });
}

test('a flat soak has no violations and a row for each measured value', () => {
  const trends = trendsOf(samples(0));
  expect(growthViolations(30, trends, NO_REFUSALS)).toEqual([]);
  expect(describeTrends(30, trends)).toContain('| checker 1, heap | 50 | 50 | 50 | 0 | 16 | flat |');
});

test('a growing value is a violation and marked in its row', () => {
  const trends = trendsOf(samples(17 * MB));
  expect(growthViolations(30, trends, NO_REFUSALS)).toEqual([
    { invariant: 'nothing grows', detail: 'checker 1, heap grows' },
  ]);
  expect(describeTrends(30, trends)).toMatch(/checker 1, heap .*\*\*GROWS\*\*/);
});

test('a run that is too short has no verdict', () => {
  const trends = trendsOf(samples(17 * MB));
  expect(growthViolations(9, trends, NO_REFUSALS)).toEqual([]);
  expect(describeTrends(9, trends)).not.toContain('GROWS');
});

test('refused live streams are a violation', () => {
  expect(growthViolations(30, trendsOf(samples(0)), { unavailable: 1 })).toEqual([
    { invariant: 'the api accepts live streams', detail: '1 streams were refused with 503' },
  ]);
});
