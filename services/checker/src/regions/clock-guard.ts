import { MAX_CLOCK_OFFSET_MS } from '@tocsin/core/schedule/slots';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import { measureClockOffset, type ClockOffset } from '@tocsin/runtime/metrics';
import { withDeadline } from '@tocsin/runtime/timeout';

const UPDATE_EVERY_MS = 2_500;
const READ_WITHIN_MS = 2_000;
/** Hysteresis, so that a clock near the maximum does not stop and start checks repeatedly. */
const RIGHT_AGAIN_MS = 0.8 * MAX_CLOCK_OFFSET_MS;

type Offset = Pick<ClockOffset, 'aheadMs' | 'behindMs'>;

/**
 * Stops checks while the clock of this process is wrong, because BullMQ starts due jobs by the worker's clock. The clock is wrong if it
 * differs from the clocks of all stores in the same direction, so one store with a wrong clock stops nothing.
 */
export class ClockGuard {
  readonly #clocks: readonly (() => Promise<number>)[];
  readonly #logger: Logger;
  #offset: Offset | null = null;
  /** Null before the first update. */
  #state: 'unknown' | 'right' | 'wrong' | null = null;

  constructor(clocks: readonly (() => Promise<number>)[], logger: Logger) {
    this.#clocks = clocks;
    this.#logger = logger;
  }

  /** Offset when a store last responded, or null. */
  get offset(): Offset | null {
    return this.#offset;
  }

  get isRight(): boolean {
    return this.#state === 'right';
  }

  watch(onUpdate: (isRight: boolean) => void): Loop {
    onUpdate(this.isRight);
    return createLoop({
      name: 'Reading the clocks',
      everyMs: UPDATE_EVERY_MS,
      logger: this.#logger,
      work: async () => {
        await this.update();
        onUpdate(this.isRight);
      },
    });
  }

  /** Compares the clock with those of the stores that respond. If none does, the last offset stays valid. */
  async update(): Promise<void> {
    const logger = this.#logger;
    const measuring = this.#clocks.map((clock) =>
      withDeadline(measureClockOffset(clock), READ_WITHIN_MS, 'a clock'),
    );
    const offsets = (await Promise.allSettled(measuring)).flatMap((one) =>
      one.status === 'fulfilled' ? [one.value] : [],
    );
    if (offsets.length > 0) {
      this.#offset = {
        aheadMs: Math.min(...offsets.map(({ aheadMs }) => aheadMs)),
        behindMs: Math.min(...offsets.map(({ behindMs }) => behindMs)),
      };
    }
    const before = this.#state;
    const maxMs = before === 'wrong' ? RIGHT_AGAIN_MS : MAX_CLOCK_OFFSET_MS;
    const isWrong = this.#offset !== null && Math.max(this.#offset.aheadMs, this.#offset.behindMs) > maxMs;
    this.#state = this.#offset === null ? 'unknown' : isWrong ? 'wrong' : 'right';
    if (this.#state === before) return;
    const clock = `The clock of this process is ${this.#describe()}`;
    if (this.#state === 'unknown')
      logger.warn('No store has reported its time, so this process takes no checks until one does');
    else if (isWrong) logger.error(`${clock}, so it takes no checks until the clock is corrected`);
    else if (before !== null) logger.info('The clock of this process is right, so it takes checks');
  }

  /** @throws Error unless the clock is known to be right */
  async check(): Promise<void> {
    if (!this.isRight) throw new Error(`the clock is ${this.#describe()}`);
  }

  /** Describes the offset, such as "60 s ahead of the stores' clocks". */
  #describe(): string {
    if (this.#offset === null) return 'not known yet';
    const { aheadMs, behindMs } = this.#offset;
    const seconds = Math.round(Math.max(aheadMs, behindMs) / 1_000);
    return `${seconds} s ${aheadMs > behindMs ? 'ahead of' : 'behind'} the stores' clocks`;
  }
}
