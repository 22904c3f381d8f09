import { type PeriodQuery, STATS_WINDOWS, type StatsWindow } from '@tocsin/contracts/monitors/stats';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A custom period gets the first bucket size whose limit it does not exceed. */
const BUCKETS: readonly { readonly bucketMs: number; readonly longestMs: number }[] = [
  { bucketMs: 60_000, longestMs: 3 * HOUR_MS },
  { bucketMs: 300_000, longestMs: 12 * HOUR_MS },
  { bucketMs: 900_000, longestMs: DAY_MS },
  { bucketMs: HOUR_MS, longestMs: 7 * DAY_MS },
  { bucketMs: 6 * HOUR_MS, longestMs: 45 * DAY_MS },
  { bucketMs: DAY_MS, longestMs: Infinity },
];

/** A period and its buckets, in epoch milliseconds. */
export interface Period {
  /** Null for a custom period. */
  readonly window: StatsWindow | null;
  readonly from: number;
  readonly to: number;
  /** All buckets begin at multiples of this. */
  readonly bucketMs: number;
  /** Starts of the buckets, including partial ones. */
  readonly starts: readonly number[];
}

/**
 * Resolves the period of a request, or null if it has not begun yet. A window begins with its first bucket.
 * @param eventsSince start of the kept events (epoch milliseconds, like `now`). Buckets shorter than an hour require all events
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
