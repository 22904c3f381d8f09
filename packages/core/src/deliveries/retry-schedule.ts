const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;

/** Delays after the first, second, … failed attempt; the last one repeats (docs/reference/delivery.md). */
const DELAYS_MS = [5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800].map(
  (seconds) => seconds * SECOND_MS,
);
const JITTER = 0.2;
/** The longest of these delays with its jitter: no retry is further away, unless a `Retry-After` extended its delay. */
export const LONGEST_DELAYS_SECONDS = DELAYS_MS.map((delay) => (delay * (1 + JITTER)) / SECOND_MS);
const ABANDON_AFTER_MS = 72 * HOUR_MS;
const MAX_RETRY_AFTER_MS = HOUR_MS;
export const MAX_RETRY_AFTER_SECONDS = MAX_RETRY_AFTER_MS / SECOND_MS;
/** Alerts that have not been attempted must not wait longer for a receiver that may have responded so to only one of them. */
export const MAX_PAUSE_MS = 60 * SECOND_MS;

/** A failed attempt. */
export interface FailedAttempt {
  /** How many attempts of this round have been made, including the failed one. */
  readonly attempts: number;
  /** Since the first attempt of this round. */
  readonly elapsedMs: number;
  /** From `Retry-After` of a 429 or 503, null without one. */
  readonly retryAfterMs: number | null;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: number;
}

/** The delay before the next attempt, in milliseconds. The last attempt is made after 72 hours; null: none follows. */
export function nextAttemptDelayMs(failed: FailedAttempt): number | null {
  const planned = DELAYS_MS[Math.min(failed.attempts, DELAYS_MS.length) - 1] ?? 0;
  const jittered = Math.round(planned * (1 + JITTER * (2 * failed.random - 1)));
  const requested = Math.min(failed.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  const leftMs = ABANDON_AFTER_MS - failed.elapsedMs;
  return leftMs <= 0 || requested > leftMs ? null : Math.min(Math.max(jittered, requested), leftMs);
}

/** How long a `Retry-After` holds back the whole channel, in milliseconds; 0 without one. */
export function channelPauseMs(retryAfterMs: number | null): number {
  return Math.min(retryAfterMs ?? 0, MAX_PAUSE_MS);
}

/** A `Retry-After` header (RFC 9110: seconds or an HTTP date) as milliseconds from `now`; null if absent, malformed or in the past. */
export function parseRetryAfter(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text) * SECOND_MS;
  if (!/^[A-Za-z]{3},? /.test(text)) return null;
  const wait = Date.parse(text) - now.getTime();
  return wait > 0 ? wait : null;
}
