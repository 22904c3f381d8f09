/**
 * The clock of one monitor: strictly increasing stamps in epoch milliseconds, used under the monitor's row lock
 * (design §3 "Events and tailing").
 */
export class MonitorClock {
  #last: number;
  /** Postgres' clock when the monitor was locked, epoch milliseconds. */
  readonly now: number;

  /**
   * @param last the monitor's last stamp, null if it has none
   * @param now Postgres' clock, read after the lock was taken
   */
  constructor(last: number | null, now: number) {
    this.#last = last ?? -Infinity;
    this.now = now;
  }

  /** The next stamp: now, or one millisecond after the last where now is not later. */
  next(): number {
    this.#last = Math.max(this.now, this.#last + 1);
    return this.#last;
  }

  /** The last stamp given out (or the one it started from). */
  get last(): number {
    return this.#last;
  }
}
