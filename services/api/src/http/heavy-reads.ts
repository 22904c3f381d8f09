import { FairShares } from '@tocsin/runtime/fair-shares';
import { unavailable } from './errors.ts';

/** Slices that run at a time, or one more if a single account runs all of them. Checks and small requests keep the rest of PostgreSQL. */
const MAX_CONCURRENT_SLICES = 2;
/** Slices of one account that wait. */
const MAX_WAITING = 1_000;

/** Runs long reads in short slices, and shares the time of these between accounts (docs/adr/0014-fair-shares.md). */
export class HeavyReads {
  readonly #turns = new FairShares(MAX_CONCURRENT_SLICES, {
    maxWaiting: MAX_WAITING,
    isTimed: true,
    isGuaranteed: true,
  });

  /**
   * Runs a slice when it is the account's turn.
   * @returns null if `signal` aborted before
   * @throws AppError unavailable if too many slices of the account wait
   */
  async run<Result>(
    accountId: string,
    signal: AbortSignal,
    slice: () => Promise<Result>,
  ): Promise<Result | null> {
    const release = await this.#turns.acquire(accountId, { signal });
    try {
      if (release !== null) return await slice();
    } finally {
      release?.();
    }
    if (signal.aborted) return null;
    throw unavailable('Too many requests of this account are waiting. Try again later.');
  }
}
