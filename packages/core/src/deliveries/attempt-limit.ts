/** Limit of concurrent attempts for a receiver that is not known yet. */
export const FIRST_ATTEMPT_LIMIT = 10;
const MIN_ATTEMPT_LIMIT = 1;
/** Even a small receiver can be expected to accept this many concurrent requests. */
export const MAX_ATTEMPT_LIMIT = 50;
/** A receiver slower than this gains nothing from more concurrent attempts, which would only occupy the notifier. */
const SLOW_MS = 1_000;
/** A receiver that takes this long hangs. This is slightly less than the deadline, because timers are inexact. */
const HANGING_MS = 4_500;
/** Too many requests, or an overloaded or unresponsive server or gateway. */
export const OVERLOADED_STATUS_CODES: ReadonlySet<number | null> = new Set([429, 502, 503, 504]);

export interface EndedAttempt {
  readonly attemptLimit: number;
  /** True if the channel reached the limit with this attempt. */
  readonly isLimitReached: boolean;
  /** Null without a response. */
  readonly statusCode: number | null;
  /** Null after a 2xx response. */
  readonly error: string | null;
  readonly durationMs: number;
}

/**
 * Returns the channel's limit of concurrent attempts after one of its attempts. The limit halves while the receiver is overloaded or does not
 * respond, and returns to the initial limit while the receiver is slow. It grows by a quarter while the receiver is fast and the limit is
 * used. If a receiver hangs even with one attempt at a time, fewer attempts do not help, so the limit returns to the initial one. Otherwise
 * the last of two hundred alerts would wait a quarter of an hour.
 */
export function nextAttemptLimit(attempt: EndedAttempt): number {
  const { attemptLimit: limit, isLimitReached, statusCode, error, durationMs } = attempt;
  const half = Math.floor(limit / 2);
  if (statusCode === null && durationMs >= HANGING_MS && half < MIN_ATTEMPT_LIMIT) return FIRST_ATTEMPT_LIMIT;
  if (statusCode === null || OVERLOADED_STATUS_CODES.has(statusCode))
    return Math.max(MIN_ATTEMPT_LIMIT, half);
  if (durationMs > SLOW_MS) return Math.min(limit, Math.max(FIRST_ATTEMPT_LIMIT, half));
  if (error !== null || !isLimitReached) return limit;
  return Math.min(MAX_ATTEMPT_LIMIT, limit + Math.ceil(limit / 4));
}
