import { describe, expect, test } from '@jest/globals';
import { DRAWING, drawBars, drawSparkline } from './draw-checks.ts';
import {
  describeLatencies,
  describePassed,
  latestLatency,
  mergeChecks,
  type RecentCheck,
} from './recent-checks.ts';

function checkOf(second: number, fields: Partial<RecentCheck> = {}): RecentCheck {
  const timestamp = new Date(Date.UTC(2026, 2, 1, 12, 0, second)).toISOString();
  return { timestamp, status: 'UP', latency: 100, region: 'default', ...fields };
}

const failed = { status: 'DOWN', latency: 0 } as const;

describe('mergeChecks', () => {
  test('is in order of time, each check once, however they come', () => {
    const merged = mergeChecks([checkOf(1), checkOf(3)], [checkOf(3), checkOf(4), checkOf(2)]);
    expect(merged).toEqual([1, 2, 3, 4].map((second) => checkOf(second)));
  });

  test('keeps the latest 30', () => {
    const all = Array.from({ length: 40 }, (_, second) => checkOf(second));
    expect(mergeChecks(all.slice(0, 25), all.slice(25))).toEqual(all.slice(10));
  });

  test('is the same object where nothing is new', () => {
    const known = [checkOf(1), checkOf(2)];
    expect(mergeChecks(known, [checkOf(2)])).toBe(known);
  });
});

test.each([
  [[], 'No checks yet', 'No latency yet', null],
  [[checkOf(1)], '1 of 1 check passed', 'Latency 100 ms', 100],
  [[checkOf(1), checkOf(2, failed)], '1 of 2 checks passed', 'Latency 100 ms', null],
  [
    [checkOf(1, { latency: 1_500 }), checkOf(2, { status: 'DOWN', latency: 90 })],
    '1 of 2 checks passed',
    'Latency 90 ms to 1.5 s',
    90,
  ],
  [[checkOf(1, failed)], '0 of 1 check passed', 'No latency yet', null],
])('%# is said in words', (checks, passed, latencies, latest) => {
  expect(describePassed(checks)).toBe(passed);
  expect(describeLatencies(checks)).toBe(latencies);
  expect(latestLatency(checks)).toBe(latest);
});

describe('drawBars', () => {
  test('has 30 places, the latest check at the right, a failed one taller', () => {
    const { up, down, none } = drawBars([checkOf(1), checkOf(2, failed), checkOf(3)]);
    expect(none.match(/M/g)).toHaveLength(27);
    expect(up).toBe('M135 6h3v16h-3zM145 6h3v16h-3z');
    expect(down).toBe('M140 0h3v22h-3z');
    expect(145 + 3).toBe(DRAWING.width);
  });
});

describe('drawSparkline', () => {
  test('goes from 0 at the bottom to the highest at the top, and ends at the right', () => {
    const checks = [checkOf(1, { latency: 0 }), checkOf(2, { latency: 50 }), checkOf(3, { latency: 200 })];
    expect(drawSparkline(checks)).toBe('M137.8 21h.01L142.9 16L148 1');
  });

  test('is broken where a check was not answered', () => {
    const path = drawSparkline([checkOf(1), checkOf(2, failed), checkOf(3), checkOf(4)]);
    expect(path.match(/[ML]/g)).toEqual(['M', 'M', 'L']);
  });

  test('is nothing without checks', () => {
    expect(drawSparkline([])).toBe('');
    expect(drawSparkline([checkOf(1, failed)])).toBe('');
  });
});
