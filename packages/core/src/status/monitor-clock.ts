/** The clock of one monitor: strictly increasing timestamps in epoch milliseconds, used under its row lock. */
export class MonitorClock {
  #last: number;
  /** Postgres' clock when the monitor was locked, epoch milliseconds. */
  readonly now: number;

  /**
   * @param last the monitor's last timestamp, null if it has none
   * @param now Postgres' clock, read after the lock was taken
   */
  constructor(last: number | null, now: number) {
    this.#last = last ?? -Infinity;
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
