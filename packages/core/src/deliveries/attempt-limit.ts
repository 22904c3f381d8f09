/** Concurrent attempts to a channel whose receiver is not known yet. */
export const FIRST_ATTEMPT_LIMIT = 10;
const MIN_ATTEMPT_LIMIT = 1;
/** As many requests at a time as a small receiver can be expected to accept. */
export const MAX_ATTEMPT_LIMIT = 50;
/** A receiver that takes longer is slow: more concurrent attempts would only occupy the notifier. */
const SLOW_MS = 1_000;
/** A receiver that has not responded for so long hangs. This is a little less than the deadline, because timers are not exact. */
const HANGING_MS = 4_500;
/** Too many requests, or a server or gateway that is overloaded or does not get a response in time. */
export const OVERLOADED_STATUS_CODES: ReadonlySet<number | null> = new Set([429, 502, 503, 504]);

/** An attempt that has ended. */
export interface EndedAttempt {
  /** Of its channel, when the attempt started. */
  readonly attemptLimit: number;
  /** Whether it used the last free place under that limit. */
  readonly isLimitReached: boolean;
  /** Null: no response. */
  readonly statusCode: number | null;
  /** Null after a 2xx response. */
  readonly error: string | null;
  readonly durationMs: number;
}

/**
 * The limit of concurrent attempts to a channel after one of its attempts. It falls by half while the receiver is overloaded or does not
 * respond, returns to the first limit while the receiver is slow, and rises by a quarter while it responds quickly and the limit is used.
 * If the receiver hangs even with one attempt at a time, their number is not the cause, and the limit returns to the first one: at 5 s for
 * each alert, the last of two hundred would otherwise wait for a quarter of an hour.
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
