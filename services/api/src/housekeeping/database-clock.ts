import { measureClockOffset } from '@tocsin/runtime/clock-offset';
import type { Logger } from '@tocsin/runtime/logger';

/** With a greater difference one of the two clocks is wrong, and nobody can tell which. */
const MAX_DIFFERENCE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Hours are rolled up soon after they end. A watermark that is older means a long outage, or a clock that jumped ahead. */
const MAX_WATERMARK_AGE_MS = 4 * 24 * HOUR_MS;
/** Then an operator has this long, by a clock that does not jump, to find the clock wrong. */
const TRUSTED_AFTER_MS = 24 * HOUR_MS;

export interface DatabaseClockOptions {
  /** Postgres' clock, epoch milliseconds. */
  readonly readClock: () => Promise<number>;
  /** Until when events are rolled up: it advances only while the clock is trusted. Null: no hour is rolled up yet. */
  readonly readWatermark: () => Promise<Date | null>;
  readonly logger: Logger;
}

export interface ClockReading {
  /** Postgres' clock, epoch milliseconds. */
  readonly now: number;
  /** Whether its witnesses agree with it: what is deleted by a wrong clock is lost. */
  readonly agrees: boolean;
}

/**
 * Postgres' clock, which decides what is too old to be kept, and its two witnesses: this process' clock, and the watermark of
 * the rollups. On one machine the first shows nothing, because both are the same clock.
 */
export class DatabaseClock {
  readonly #options: DatabaseClockOptions;
  #agreed = true;
  /** By `performance.now()`; null while the watermark is recent. */
  #jumpSeenAt: number | null = null;

  constructor(options: DatabaseClockOptions) {
    this.#options = options;
  }

  async read(): Promise<ClockReading> {
    const { readClock, readWatermark, logger } = this.#options;
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
    const mayHaveJumped = this.#mayHaveJumped(now, await readWatermark());
    return { now, agrees: agrees && !mayHaveJumped };
  }

  #mayHaveJumped(now: number, watermark: Date | null): boolean {
    if (watermark === null || now - watermark.getTime() <= MAX_WATERMARK_AGE_MS) {
      this.#jumpSeenAt = null;
      return false;
    }
    if (this.#jumpSeenAt === null) {
      this.#jumpSeenAt = performance.now();
      this.#options.logger.error(
        'No checks were rolled up for days: after a long outage, or because the clock of Postgres jumped ahead. Nothing is ' +
          'deleted or rolled up for 24 hours. If the clock is wrong, correct it now.',
        { clock: new Date(now), rolledUpUntil: watermark },
      );
    }
    return performance.now() - this.#jumpSeenAt < TRUSTED_AFTER_MS;
  }
}
