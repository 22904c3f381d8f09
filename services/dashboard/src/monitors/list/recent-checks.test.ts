import { describe, expect, test } from '@jest/globals';
import {
  describeLatencies,
  describePassed,
  drawBars,
  DRAWING,
  drawSparkline,
  latestLatency,
  mergeChecks,
  type RecentCheck,
} from './recent-checks.ts';

function checkOf(second: number, fields: Partial<RecentCheck> = {}): RecentCheck {
  const timestamp = new Date(Date.UTC(2026, 2, 1, 12, 0, second)).toISOString();
  return { timestamp, status: 'UP', inconclusive: false, latency: 100, region: 'default', ...fields };
}

const failed = { status: 'DOWN', latency: 0 } as const;
const inconclusive = { status: 'DOWN', inconclusive: true, latency: 900 } as const;

describe('mergeChecks', () => {
  test('sorts by time without duplicates', () => {
    const merged = mergeChecks([checkOf(1), checkOf(3)], [checkOf(3), checkOf(4), checkOf(2)]);
    expect(merged).toEqual([1, 2, 3, 4].map((second) => checkOf(second)));
  });

  test('keeps the latest 30', () => {
    const all = Array.from({ length: 40 }, (_, second) => checkOf(second));
    expect(mergeChecks(all.slice(0, 25), all.slice(25))).toEqual(all.slice(10));
  });

  test('returns the same list if nothing is new', () => {
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
    'Latency from 90 ms to 1.5 s',
    90,
  ],
  [[checkOf(1, failed)], '0 of 1 check passed', 'No latency yet', null],
  [
    [checkOf(1), checkOf(2, inconclusive), checkOf(3, inconclusive)],
    '1 of 1 check passed, 2 inconclusive',
    'Latency 100 ms',
    100,
  ],
  [[checkOf(1, inconclusive)], '1 inconclusive check', 'No latency yet', null],
])('describes and measures checks: case %#', (checks, passed, latencies, latest) => {
  expect(describePassed(checks)).toBe(passed);
  expect(describeLatencies(checks)).toBe(latencies);
  expect(latestLatency(checks)).toBe(latest);
});

describe('drawBars', () => {
  test('has 30 slots, the latest check at the right, a failed one taller', () => {
    const { up, down, none } = drawBars([checkOf(1), checkOf(2, failed), checkOf(3)]);
    expect(none.match(/M/g)).toHaveLength(27);
    expect(up).toBe('M135 6h3v16h-3zM145 6h3v16h-3z');
    expect(down).toBe('M140 0h3v22h-3z');
    expect(145 + 3).toBe(DRAWING.width);
  });
});

test('drawBars draws an inconclusive check as three dashes, neither up nor down', () => {
  expect(drawBars([checkOf(1, inconclusive)])).toMatchObject({
    up: '',
    down: '',
    inconclusive: 'M145 6h3v4h-3zM145 12h3v4h-3zM145 18h3v4h-3z',
  });
});

describe('drawSparkline', () => {
  test('goes from 0 at the bottom to the highest at the top, and ends at the right', () => {
    const checks = [checkOf(1, { latency: 0 }), checkOf(2, { latency: 50 }), checkOf(3, { latency: 200 })];
    expect(drawSparkline(checks)).toBe('M137.8 21h.01L142.9 16L148 1');
  });

  test('is interrupted by a check without a response', () => {
    const path = drawSparkline([checkOf(1), checkOf(2, failed), checkOf(3), checkOf(4)]);
    expect(path.match(/[ML]/g)).toEqual(['M', 'M', 'L']);
  });

  test('is interrupted by an inconclusive check, whose latency does not count', () => {
    const checks = [checkOf(1), checkOf(2, inconclusive), checkOf(3)];
    expect(drawSparkline(checks)).toBe('M137.8 1h.01M148 1h.01');
  });

  test('is empty without checks', () => {
    expect(drawSparkline([])).toBe('');
    expect(drawSparkline([checkOf(1, failed)])).toBe('');
  });
});
