/** The bounds of the histogram of durations, in milliseconds, inclusive. One more bucket has no bound. */
export const DURATION_BOUNDS_MS = [50, 100, 250, 500, 1_000, 2_500, 10_000] as const;
