import { describe, expect, test } from '@jest/globals';
import { fc } from '../testing/fast-check.ts';
import {
  FIRST_ATTEMPT_LIMIT,
  MAX_ATTEMPT_LIMIT,
  nextAttemptLimit,
  type EndedAttempt,
} from './attempt-limit.ts';

const success: EndedAttempt = {
  attemptLimit: FIRST_ATTEMPT_LIMIT,
  isLimitReached: true,
  statusCode: 200,
  error: null,
  durationMs: 100,
};
const failure = (statusCode: number | null): Partial<EndedAttempt> => ({ statusCode, error: 'failed' });

describe('nextAttemptLimit', () => {
  test.each<[string, Partial<EndedAttempt>, number]>([
    ['rises by a quarter', {}, 13],
    ['rises from 1', { attemptLimit: 1 }, 2],
    ['stops at its maximum', { attemptLimit: 45 }, 50],
    ['stays while it is not used', { isLimitReached: false }, 10],
    ['halves on 429', failure(429), 5],
    ['halves on 503, even if it is not reached', { ...failure(503), isLimitReached: false }, 5],
    ['halves without a response', failure(null), 5],
    ['does not fall below 1', { ...failure(null), attemptLimit: 1 }, 1],
    ['halves while the receiver hangs', { ...failure(null), attemptLimit: 2, durationMs: 5_000 }, 1],
    [
      'starts over if it hangs with one at a time',
      { ...failure(null), attemptLimit: 1, durationMs: 5_000 },
      10,
    ],
    ['stays after an error of the receiver itself', failure(500), 10],
    ['halves on 502', failure(502), 5],
    ['halves on 504', failure(504), 5],
    ['rises after a second', { durationMs: 1_000 }, 13],
    ['returns to the first limit while the receiver is slow', { attemptLimit: 15, durationMs: 1_001 }, 10],
    ['halves at most while the receiver is slow', { attemptLimit: 48, durationMs: 4_000 }, 24],
    ['does not rise while the receiver is slow', { attemptLimit: 3, durationMs: 4_000 }, 3],
  ])('%s', (_, attempt, expected) => {
    expect(nextAttemptLimit({ ...success, ...attempt })).toBe(expected);
  });
});

const attempts = fc.array(
  fc.record({
    isLimitReached: fc.boolean(),
    statusCode: fc.constantFrom(200, 204, 302, 400, 410, 429, 500, 502, 503, 504, null),
    durationMs: fc.integer({ min: 0, max: 6_000 }),
  }),
);

/** Returns the limit after each of these attempts, which start one after the other. */
function limitsOf(ended: readonly Omit<EndedAttempt, 'attemptLimit' | 'error'>[]): number[] {
  let limit = FIRST_ATTEMPT_LIMIT;
  return ended.map((one) => {
    const isSuccess = one.statusCode !== null && one.statusCode < 300;
    limit = nextAttemptLimit({ ...one, attemptLimit: limit, error: isSuccess ? null : 'failed' });
    return limit;
  });
}

describe('whatever a receiver does', () => {
  test('the limit is a whole number from 1 to the maximum, changes by at most a factor of 2 unless it starts over, and only for a reason', () => {
    fc.assert(
      fc.property(attempts, (ended) => {
        let before = FIRST_ATTEMPT_LIMIT;
        for (const [index, limit] of limitsOf(ended).entries()) {
          const { statusCode, durationMs, isLimitReached } = ended[index] ?? success;
          expect(Number.isInteger(limit)).toBe(true);
          expect(limit).toBeGreaterThanOrEqual(Math.max(1, Math.floor(before / 2)));
          const startsOver = before === 1 && statusCode === null && durationMs >= 5_000;
          expect(limit).toBeLessThanOrEqual(Math.min(MAX_ATTEMPT_LIMIT, startsOver ? 10 : before * 2));
          if (limit < before) expect(statusCode !== 200 || durationMs > 1_000).toBe(true);
          if (limit > before && !startsOver)
            expect([isLimitReached, (statusCode ?? 500) < 300]).toEqual([true, true]);
          before = limit;
        }
      }),
    );
  });

  test('a recovered receiver reaches its maximum within twenty rounds, and an overloaded one drops to one attempt at a time', () => {
    fc.assert(
      fc.property(attempts, (ended) => {
        const then = (statusCode: number | null) =>
          Array.from({ length: 20 }, () => ({ ...success, statusCode }));
        expect(limitsOf([...ended, ...then(200)]).at(-1)).toBe(MAX_ATTEMPT_LIMIT);
        expect(limitsOf([...ended, ...then(503)]).at(-1)).toBe(1);
      }),
    );
  });
});
