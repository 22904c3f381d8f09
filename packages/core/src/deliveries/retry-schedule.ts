const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;

/** Delays after the first, second, … failed attempt. The last one repeats (docs/concepts/delivery.md). */
const DELAYS_MS = [5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800].map(
  (seconds) => seconds * SECOND_MS,
);
const JITTER = 0.2;
/** Longest delays including jitter. Only `Retry-After` can postpone a retry further. */
export const LONGEST_DELAYS_SECONDS = DELAYS_MS.map((delay) => (delay * (1 + JITTER)) / SECOND_MS);
const ABANDON_AFTER_MS = 72 * HOUR_MS;
const MAX_RETRY_AFTER_MS = HOUR_MS;
export const MAX_RETRY_AFTER_SECONDS = MAX_RETRY_AFTER_MS / SECOND_MS;
/** A receiver may send `Retry-After` to only one delivery, so new alerts on the channel wait no longer than this. */
export const MAX_PAUSE_MS = 60 * SECOND_MS;

export interface FailedAttempt {
  /** Attempts of this round, including the failed one. */
  readonly attempts: number;
  /** Time since the first attempt of this round. */
  readonly elapsedMs: number;
  /** From `Retry-After` of a 429 or 503, or null. */
  readonly retryAfterMs: number | null;
  /** In the range [0, 1). */
  readonly random: number;
}

/** Returns the delay before the next attempt in milliseconds, or null after the last attempt, which takes place after 72 hours. */
export function nextAttemptDelayMs(failed: FailedAttempt): number | null {
  const planned = DELAYS_MS[Math.min(failed.attempts, DELAYS_MS.length) - 1] ?? 0;
  const jittered = Math.round(planned * (1 + JITTER * (2 * failed.random - 1)));
  const requested = Math.min(failed.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  const leftMs = ABANDON_AFTER_MS - failed.elapsedMs;
  return leftMs <= 0 || requested > leftMs ? null : Math.min(Math.max(jittered, requested), leftMs);
}

/** Returns how long a `Retry-After` pauses the whole channel, in milliseconds. */
export function channelPauseMs(retryAfterMs: number | null): number {
  return Math.min(retryAfterMs ?? 0, MAX_PAUSE_MS);
}

/** Parses `Retry-After` (RFC 9110: seconds or an HTTP date) to milliseconds from `now`. Null if absent, malformed or in the past. */
export function parseRetryAfter(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text) * SECOND_MS;
  if (!/^[A-Za-z]{3},? /.test(text)) return null;
  const wait = Date.parse(text) - now.getTime();
  return wait > 0 ? wait : null;
}
