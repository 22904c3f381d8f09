import type { RollupState } from '@tocsin/db/check-rollups/roll-up';
import type { Logger } from '@tocsin/runtime/logger';
import { measureClockOffset } from '@tocsin/runtime/metrics';

/** A greater difference means that one of the two clocks is wrong. */
const MAX_DIFFERENCE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** An older watermark means a long outage, or a clock that jumped ahead. */
const MAX_WATERMARK_AGE_MS = 4 * 24 * HOUR_MS;
/** Operators have this long to notice a wrong clock. The time is measured with a monotonic clock while an api leads. */
const TRUSTED_AFTER_MS = 24 * HOUR_MS;
/** Leaders read the clock every minute. After a longer pause, another process may have led. */
const MAX_PAUSE_MS = 120_000;

export interface DatabaseClockOptions {
  /** Postgres' clock, epoch milliseconds. */
  readonly readClock: () => Promise<number>;
  /** Reads how far events are rolled up, which advances only while the clock is trusted. Null if no hour is rolled up yet. */
  readonly readState: () => Promise<Pick<RollupState, 'rolledUntil' | 'clockDoubtedMs'> | null>;
  /** Stores for the next process how long the clock has been doubted. */
  readonly writeDoubt: (doubtedMs: number) => Promise<void>;
  readonly logger: Logger;
}

export interface ClockReading {
  /** Postgres' clock, epoch milliseconds. */
  readonly now: number;
  /** True if this process' clock and the watermark confirm the time. */
  readonly agrees: boolean;
}

/**
 * The clock of Postgres, which decides what has expired. This process' clock and the watermark of the rollups must confirm it, because a
 * wrong clock would delete data.
 */
export class DatabaseClock {
  readonly #options: DatabaseClockOptions;
  #agreed = true;
  #isDoubted = false;
  /** Last trusted reading, by both clocks. */
  #trusted: { readonly now: number; readonly at: number } | null = null;
  /** By `performance.now()`. */
  #readAt = -Infinity;

  constructor(options: DatabaseClockOptions) {
    this.#options = options;
  }

  async read(): Promise<ClockReading> {
    const { readClock, logger } = this.#options;
    const { theirs: now, aheadMs, behindMs } = await measureClockOffset(readClock);
    const agrees = Math.max(aheadMs, behindMs) <= MAX_DIFFERENCE_MS;
    if (agrees !== this.#agreed) {
      this.#agreed = agrees;
      if (agrees) logger.info('The clocks of this process and Postgres agree again');
      else {
        logger.error(
          'The clocks of this process and Postgres differ. Nothing is deleted or rolled up until they agree.',
          { aheadMs: Math.round(aheadMs - behindMs) },
        );
      }
    }
    const isTrusted = await this.#isTrusted(now);
    return { now, agrees: agrees && isTrusted };
  }

  async #isTrusted(now: number): Promise<boolean> {
    const { readState, writeDoubt, logger } = this.#options;
    const at = performance.now();
    const pausedMs = at - this.#readAt;
    this.#readAt = at;
    const state = await readState();
    const doubtedMs = state?.clockDoubtedMs ?? 0;
    const isRecent = state === null || now - state.rolledUntil.getTime() <= MAX_WATERMARK_AGE_MS;
    if (isRecent || this.#advancedSteadily(now, at) || doubtedMs >= TRUSTED_AFTER_MS) {
      if (isRecent && doubtedMs > 0) await writeDoubt(0);
      this.#isDoubted = false;
      this.#trusted = { now, at };
      return true;
    }
    this.#trusted = null;
    if (!this.#isDoubted) {
      logger.error(
        'No checks were rolled up for days: after a long outage, or because the clock of Postgres jumped ahead. Nothing is ' +
          'deleted or rolled up until an api has led for 24 hours. If the clock is wrong, correct it now.',
        { clock: new Date(now), rolledUpUntil: state.rolledUntil, ledForMs: doubtedMs },
      );
    } else if (pausedMs <= MAX_PAUSE_MS) await writeDoubt(Math.round(doubtedMs + pausedMs));
    this.#isDoubted = true;
    return false;
  }

  /** Returns whether Postgres' clock has not jumped since a trusted reading, regardless of the watermark. */
  #advancedSteadily(now: number, at: number): boolean {
    if (this.#trusted === null) return false;
    const drift = now - this.#trusted.now - (at - this.#trusted.at);
    return Math.abs(drift) <= MAX_DIFFERENCE_MS;
  }
}
