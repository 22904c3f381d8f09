/** How far a timestamp may be in the future: Postgres' clock may have been ahead by that much, or another server's, before a failover. */
export const MAX_AHEAD_MS = 3_600_000;

/**
 * The clock of one monitor: strictly increasing timestamps in epoch milliseconds, used under its row lock. If it is further ahead than
 * that, it starts again at Postgres' clock. Otherwise results would get timestamps for which there is no partition, and which no report
 * contains until then.
 */
export class MonitorClock {
  #last: number;
  /** Postgres' clock when the monitor was locked, epoch milliseconds. */
  readonly now: number;

  /**
   * @param last the monitor's last timestamp, null if it has none
   * @param now Postgres' clock, read after the lock was taken
   */
  constructor(last: number | null, now: number) {
    this.#last = last === null || last > now + MAX_AHEAD_MS ? -Infinity : last;
    this.now = now;
  }

  /** The timestamp that `next` would return. */
  peek(): number {
    return Math.max(this.now, this.#last + 1);
  }

  /** The next timestamp: now, or one millisecond after the last one. */
  next(): number {
    this.#last = this.peek();
    return this.#last;
  }

  /** The last timestamp. */
  get last(): number {
    return this.#last;
  }
}
