import { MAX_CLOCK_OFFSET_MS } from '@tocsin/core/schedule/lateness';
import { withDeadline } from '@tocsin/queue/deadline';
import { measureClockOffset, type ClockOffset } from '@tocsin/runtime/clock-offset';
import type { Logger } from '@tocsin/runtime/logger';

const ANSWER_WITHIN_MS = 2_000;

export interface ClockGuardOptions {
  /** The clocks of the stores, epoch milliseconds. */
  readonly clocks: readonly (() => Promise<number>)[];
  readonly logger: Logger;
}

/**
 * Knows whether this process' clock is right. A checker whose clock is fast would take checks before their time. BullMQ starts
 * due jobs by its worker's clock, not by the store's, so one whose clock is slow would take them late, or never. The clock is
 * wrong where it differs from every store's in the same direction: a store with a wrong clock stops nobody.
 */
export class ClockGuard {
  readonly #options: ClockGuardOptions;
  #offset: Pick<ClockOffset, 'aheadMs' | 'behindMs'> | null = null;

  constructor(options: ClockGuardOptions) {
    this.#options = options;
  }

  /** How wrong the clock was at the last look that a store answered; null before that. */
  get offset(): Pick<ClockOffset, 'aheadMs' | 'behindMs'> | null {
    return this.#offset;
  }

  /** Whether checks may be taken: the clock is known to be right. */
  get isRight(): boolean {
    return this.#offset !== null && this.#wrong() === null;
  }

  /** Looks at all clocks that answer; where none does, what was seen last stays true. */
  async look(): Promise<void> {
    const { clocks, logger } = this.#options;
    const before = this.#wrong();
    const looks = clocks.map((clock) => withDeadline(measureClockOffset(clock), ANSWER_WITHIN_MS, 'a clock'));
    const settled = await Promise.allSettled(looks);
    const answered = settled.flatMap((look) => (look.status === 'fulfilled' ? [look.value] : []));
    if (answered.length === 0) return;
    this.#offset = {
      aheadMs: Math.min(...answered.map(({ aheadMs }) => aheadMs)),
      behindMs: Math.min(...answered.map(({ behindMs }) => behindMs)),
    };
    const wrong = this.#wrong();
    if ((wrong === null) === (before === null)) return;
    if (wrong !== null)
      logger.error(`This process' clock is ${wrong}: it takes no checks until that is mended`);
    else logger.info("This process' clock is right again: it takes checks");
  }

  /** Throws while the clock is known to be wrong. */
  async check(): Promise<void> {
    await Promise.resolve();
    const wrong = this.#wrong();
    if (wrong !== null) throw new Error(`the clock is ${wrong}`);
  }

  /** As "60 s ahead of the stores' clocks"; null: right, or unknown. */
  #wrong(): string | null {
    const { aheadMs, behindMs } = this.#offset ?? { aheadMs: 0, behindMs: 0 };
    if (Math.max(aheadMs, behindMs) <= MAX_CLOCK_OFFSET_MS) return null;
    const seconds = Math.round(Math.max(aheadMs, behindMs) / 1_000);
    return `${seconds} s ${aheadMs > behindMs ? 'ahead of' : 'behind'} the stores' clocks`;
  }
}
