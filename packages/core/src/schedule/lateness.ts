/** How much later than one interval a scheduled check may start; after that its slot is a gap (design §4 "Slot"). */
export const GRACE_MS = 15_000;

/** A check that ran later than this after its slot counts as a gap: an hour's numbers must be final some day. */
export const MOST_LATE_MS = 15 * 60_000;

/**
 * How far a process' clock may be off those of the stores. A checker that is further ahead would run checks long before their
 * time, and leave none for the time after it; one that is further behind would take them late, or never. Less than the grace,
 * so that what less than this does to a schedule is within it.
 */
export const MAX_CLOCK_OFFSET_MS = 10_000;

/** Whether a check planned for `slot` is too old to run: the next one is due anyway. Times in epoch milliseconds. */
export function isTooLate(slot: number, intervalSeconds: number, now: number): boolean {
  return now - slot > intervalSeconds * 1_000 + GRACE_MS;
}

/**
 * Whether two checks of a monitor may overlap although each worker runs one at a time, so that the guard between
 * processes is needed (design §4 "Slot").
 */
export function mayOverlap(intervalSeconds: number, timeoutSeconds: number): boolean {
  return timeoutSeconds >= intervalSeconds / 2;
}
