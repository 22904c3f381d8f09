import { type PeriodQuery, STATS_WINDOWS, type StatsWindow } from '@tocsin/contracts/monitors/stats';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The buckets of a period without a window: the first one whose periods are long enough. In milliseconds. */
const BUCKETS: readonly { readonly bucketMs: number; readonly longestMs: number }[] = [
  { bucketMs: 60_000, longestMs: 3 * HOUR_MS },
  { bucketMs: 300_000, longestMs: 12 * HOUR_MS },
  { bucketMs: 900_000, longestMs: DAY_MS },
  { bucketMs: HOUR_MS, longestMs: 7 * DAY_MS },
  { bucketMs: 6 * HOUR_MS, longestMs: 45 * DAY_MS },
  { bucketMs: DAY_MS, longestMs: Infinity },
];

/** A period and its buckets; times in epoch milliseconds. */
export interface Period {
  /** Null: the period has a start and an end of its own. */
  readonly window: StatsWindow | null;
  /** The start of the period, and its end: at most now. */
  readonly from: number;
  readonly to: number;
  /** All buckets begin at multiples of it. */
  readonly bucketMs: number;
  /** The start of each bucket that has a part of the period. */
  readonly starts: readonly number[];
}

/**
 * The period of a request; a window begins with its first bucket. Null if it has not begun yet.
 * @param eventsSince since when every event is kept: buckets shorter than an hour need them. Epoch milliseconds, as `now`
 */
export function resolvePeriod(
  { window, from, to }: PeriodQuery,
  now: number,
  eventsSince: number,
): Period | null {
  if (from === undefined || to === undefined) return windowPeriod(window ?? '24h', now);
  const [start, end] = [from.getTime(), Math.min(to.getTime(), now)];
  if (start >= end) return null;
  const found = BUCKETS.find(({ longestMs }) => end - start <= longestMs);
  const finest = start < eventsSince ? HOUR_MS : 0;
  const bucketMs = Math.max(found?.bucketMs ?? DAY_MS, finest);
  return { window: null, from: start, to: end, bucketMs, starts: bucketStarts(start, end, bucketMs) };
}

function windowPeriod(window: StatsWindow, now: number): Period {
  const { buckets, bucketSeconds } = STATS_WINDOWS[window];
  const bucketMs = bucketSeconds * 1_000;
  const from = (Math.floor(now / bucketMs) - buckets + 1) * bucketMs;
  return {
    window,
    from,
    to: now,
    bucketMs,
    starts: Array.from({ length: buckets }, (_, index) => from + index * bucketMs),
  };
}

function bucketStarts(from: number, to: number, bucketMs: number): number[] {
  const first = Math.floor(from / bucketMs) * bucketMs;
  return Array.from({ length: Math.ceil((to - first) / bucketMs) }, (_, index) => first + index * bucketMs);
}
