/** How wrong this process' clock is at least, milliseconds; at most one of the two is above 0. */
export interface ClockOffset {
  readonly aheadMs: number;
  readonly behindMs: number;
}

/** Compares this process' clock with another one; of the time that the answer takes nobody knows when it was read. */
export async function measureClockOffset(readClock: () => Promise<number>): Promise<ClockOffset> {
  const askedAt = Date.now();
  const theirs = await readClock();
  return { aheadMs: Math.max(0, askedAt - theirs), behindMs: Math.max(0, theirs - Date.now()) };
}
