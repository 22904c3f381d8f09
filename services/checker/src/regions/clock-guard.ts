import { MOST_FAST_MS } from '@tocsin/core/schedule/lateness';
import { withDeadline } from '@tocsin/queue/deadline';
import { measureClockOffset } from '@tocsin/runtime/clock-offset';
import type { Logger } from '@tocsin/runtime/logger';

const ANSWER_WITHIN_MS = 2_000;

export interface ClockGuardOptions {
  /** The clocks of the stores, epoch milliseconds. */
  readonly clocks: readonly (() => Promise<number>)[];
  readonly logger: Logger;
}

/**
 * Knows whether this process' clock is fast: by it checks are due before their time, so a checker must not take them. It is
 * when it is ahead of every store's clock: a store's that is slow stops nobody.
 */
export class ClockGuard {
  readonly #options: ClockGuardOptions;
  /** Null: nobody knows yet. */
  #aheadMs: number | null = null;

  constructor(options: ClockGuardOptions) {
    this.#options = options;
  }

  get isFast(): boolean {
    return this.#aheadMs !== null && this.#aheadMs > MOST_FAST_MS;
  }

  /** Whether checks may be taken: the clock is known not to be fast. */
  get isRight(): boolean {
    return this.#aheadMs !== null && !this.isFast;
  }

  /** Looks at all clocks that answer; where none does, what was seen last stays true. */
  async look(): Promise<void> {
    const { clocks, logger } = this.#options;
    const before = this.isFast;
    const looks = clocks.map((clock) => withDeadline(measureClockOffset(clock), ANSWER_WITHIN_MS, 'a clock'));
    const answered = (await Promise.allSettled(looks)).filter((look) => look.status === 'fulfilled');
    if (answered.length === 0) return;
    this.#aheadMs = Math.min(...answered.map(({ value }) => value.aheadMs));
    if (this.isFast === before) return;
    if (this.isFast) {
      logger.error("This process' clock is fast: it takes no checks until it is right", {
        aheadMs: Math.round(this.#aheadMs),
      });
    } else logger.info("This process' clock is right again: it takes checks");
  }

  /** Throws while the clock is fast. */
  async check(): Promise<void> {
    await Promise.resolve();
    if (this.isFast)
      throw new Error(`the clock is ${Math.round((this.#aheadMs ?? 0) / 1_000)} s ahead of the stores'`);
  }
}
