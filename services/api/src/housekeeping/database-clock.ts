import { measureClockOffset } from '@tocsin/runtime/clock-offset';
import type { Logger } from '@tocsin/runtime/logger';

/** With a greater difference one of the two clocks is wrong, and nobody can tell which. */
const MAX_DIFFERENCE_MS = 60_000;

export interface DatabaseClockOptions {
  /** Postgres' clock, epoch milliseconds. */
  readonly readClock: () => Promise<number>;
  readonly logger: Logger;
}

export interface ClockReading {
  /** Postgres' clock, epoch milliseconds. */
  readonly now: number;
  /** Whether this process' clock says the same, to the minute: what is deleted by a wrong clock is lost. */
  readonly agrees: boolean;
}

/** Postgres' clock, which decides what is too old to be kept, and this process' clock as its witness. */
export class DatabaseClock {
  readonly #options: DatabaseClockOptions;
  #agreed = true;

  constructor(options: DatabaseClockOptions) {
    this.#options = options;
  }

  async read(): Promise<ClockReading> {
    const { readClock, logger } = this.#options;
    const { theirs: now, aheadMs, behindMs } = await measureClockOffset(readClock);
    const agrees = Math.max(aheadMs, behindMs) <= MAX_DIFFERENCE_MS;
    if (agrees !== this.#agreed) {
      this.#agreed = agrees;
      if (agrees) logger.info("This process' clock and that of Postgres agree again");
      else {
        logger.error(
          "This process' clock and that of Postgres differ: nothing is deleted or rolled up until they agree",
          { aheadMs: Math.round(aheadMs - behindMs) },
        );
      }
    }
    return { now, agrees };
  }
}
