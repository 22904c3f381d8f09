/** Timestamps may be this far in the future, because the clock of PostgreSQL, or of another server before a failover, may have been ahead. */
export const MAX_AHEAD_MS = 3_600_000;

/** Strictly increasing clock of a locked monitor. A clock that is too far ahead restarts, because no partition accepts its timestamps. */
export class MonitorClock {
  #last: number;
  /** PostgreSQL's clock when the monitor was locked, epoch milliseconds. */
  readonly now: number;

  /** @param last the monitor's last timestamp, or null */
  constructor(last: number | null, now: number) {
    this.#last = last === null || last > now + MAX_AHEAD_MS ? -Infinity : last;
    this.now = now;
  }

  /** Returns the timestamp that `next` would return. */
  peek(): number {
    return Math.max(this.now, this.#last + 1);
  }

  /** Takes the next timestamp: now, or one millisecond after the last one. */
  next(): number {
    this.#last = this.peek();
    return this.#last;
  }

  get last(): number {
    return this.#last;
  }
}
