import { describe, expect, test } from '@jest/globals';
import { channelPauseMs, nextAttemptDelayMs, parseRetryAfter } from './retry-schedule.ts';

const HOUR_MS = 3_600_000;

function delayAfter(attempts: number, overrides = {}): number | null {
  return nextAttemptDelayMs({ attempts, elapsedMs: 0, retryAfterMs: null, random: 0.5, ...overrides });
}

describe('nextAttemptDelayMs', () => {
  test('follows the schedule, then repeats every 8 h', () => {
    const seconds = [5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800, 28_800];
    expect(seconds.map((_, index) => delayAfter(index + 1))).toEqual(seconds.map((value) => value * 1_000));
  });

  test('adds a jitter of 20%', () => {
    expect(delayAfter(4, { random: 0 })).toBe(48_000);
    expect(delayAfter(4, { random: 0.999_999_9 })).toBe(72_000);
  });

  test('honors a longer Retry-After, up to 1 h', () => {
    expect(delayAfter(1, { retryAfterMs: 20_000 })).toBe(20_000);
    expect(delayAfter(1, { retryAfterMs: 1_000 })).toBe(5_000);
    const longer = ['18000', '99999999999', '9'.repeat(400)];
    for (const header of longer) {
      expect(delayAfter(1, { retryAfterMs: parseRetryAfter(header, new Date()) })).toBe(HOUR_MS);
    }
  });

  test('ends with an attempt after 72 h, however early the attempts before it were', () => {
    expect(delayAfter(20, { elapsedMs: 70 * HOUR_MS })).toBe(2 * HOUR_MS);
    expect(delayAfter(20, { elapsedMs: 72 * HOUR_MS })).toBeNull();
    expect(delayAfter(20, { elapsedMs: 71.5 * HOUR_MS, retryAfterMs: HOUR_MS })).toBeNull();
  });
});

describe('parseRetryAfter', () => {
  const now = new Date('2026-11-20T12:00:00Z');
  test.each([
    [undefined, null],
    ['', null],
    ['soon', null],
    ['-5', null],
    ['120', 120_000],
    [' 0 ', 0],
    ['Friday', null],
    ['Fri, 20 Nov 2026 12:00:00 GMT', null],
    ['Fri, 20 Nov 2026 12:00:30 GMT', 30_000],
    ['Fri, 20 Nov 2026 11:00:00 GMT', null],
  ])('%j', (header, expected) => {
    expect(parseRetryAfter(header, now)).toBe(expected);
  });
});

test.each([
  [null, 0],
  [59_000, 59_000],
  [HOUR_MS, 60_000],
])('a Retry-After of %p ms holds back the whole channel for %p ms', (retryAfterMs, pauseMs) => {
  expect(channelPauseMs(retryAfterMs)).toBe(pauseMs);
});
