import { MAX_CLOCK_OFFSET_MS } from '@tocsin/core/schedule/slots';
import { withDeadline } from '@tocsin/queue/deadline';
import type { Logger } from '@tocsin/runtime/logger';
import { type ClockOffset, measureClockOffset } from '@tocsin/runtime/metrics';

const ANSWER_WITHIN_MS = 2_000;
/** A clock that was wrong is right again below this: one that differs by just the maximum does not start and stop the checks. */
const RIGHT_AGAIN_MS = 0.8 * MAX_CLOCK_OFFSET_MS;

export interface ClockGuardOptions {
  /** The clocks of the stores, epoch milliseconds. */
  readonly clocks: readonly (() => Promise<number>)[];
  readonly logger: Logger;
}

/**
 * Knows whether this process' clock is right. A checker whose clock is fast would take checks before their time. BullMQ starts
 * due jobs by its worker's clock, not by the store's, so one whose clock is slow would take them late, or never. The clock is
 * wrong where it differs from every store's in the same direction. A store with a wrong clock therefore stops nobody, as long as
 * another machine has the clock of another store. Where all stores are on one server, its wrong clock halts every checker.
 */
export class ClockGuard {
  readonly #options: ClockGuardOptions;
  #offset: Pick<ClockOffset, 'aheadMs' | 'behindMs'> | null = null;
  /** Null before the first look. */
  #state: 'unknown' | 'right' | 'wrong' | null = null;

  constructor(options: ClockGuardOptions) {
    this.#options = options;
  }

  /** How wrong the clock was at the last look that a store answered; null before that. */
  get offset(): Pick<ClockOffset, 'aheadMs' | 'behindMs'> | null {
    return this.#offset;
  }

  /** Whether checks may be taken: the clock is known to be right. */
  get isRight(): boolean {
    return this.#state === 'right';
  }

  /** Looks at all clocks that answer; where none does, what was seen last stays true. */
  async look(): Promise<void> {
    const looks = this.#options.clocks.map((clock) =>
      withDeadline(measureClockOffset(clock), ANSWER_WITHIN_MS, 'a clock'),
    );
    const settled = await Promise.allSettled(looks);
    const answered = settled.flatMap((look) => (look.status === 'fulfilled' ? [look.value] : []));
    if (answered.length > 0) {
      this.#offset = {
        aheadMs: Math.min(...answered.map(({ aheadMs }) => aheadMs)),
        behindMs: Math.min(...answered.map(({ behindMs }) => behindMs)),
      };
    }
    const before = this.#state;
    this.#state = this.#evaluate();
    if (this.#state !== before) this.#report(before);
  }

  /** Throws unless the clock is known to be right. */
  async check(): Promise<void> {
    await Promise.resolve();
    if (!this.isRight) throw new Error(`the clock is ${this.#difference()}`);
  }

  #evaluate(): 'unknown' | 'right' | 'wrong' {
    if (this.#offset === null) return 'unknown';
    const { aheadMs, behindMs } = this.#offset;
    const maxMs = this.#state === 'wrong' ? RIGHT_AGAIN_MS : MAX_CLOCK_OFFSET_MS;
    return Math.max(aheadMs, behindMs) > maxMs ? 'wrong' : 'right';
  }

  #report(before: 'unknown' | 'right' | 'wrong' | null): void {
    const { logger } = this.#options;
    if (this.#state === 'unknown')
      logger.warn('No store has answered what time it is: this process takes no checks until one does');
    else if (this.#state === 'wrong')
      logger.error(
        `This process' clock is ${this.#difference()}: it takes no checks until the clock is corrected`,
      );
    else if (before !== null) logger.info("This process' clock is right: it takes checks");
  }

  /** As "60 s ahead of the stores' clocks". */
  #difference(): string {
    if (this.#offset === null) return 'not known yet';
    const { aheadMs, behindMs } = this.#offset;
    const seconds = Math.round(Math.max(aheadMs, behindMs) / 1_000);
    return `${seconds} s ${aheadMs > behindMs ? 'ahead of' : 'behind'} the stores' clocks`;
  }
}
