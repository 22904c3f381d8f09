export interface RestartRule {
  /** Pause before the first restart. Doubles after each failure. */
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
  /** After a run longer than this, earlier failures no longer count. */
  readonly stableAfterMs: number;
}

/** Decides when to restart a process that ends unexpectedly. */
export class Restarts {
  readonly #rule: RestartRule;
  #failures = 0;

  constructor(rule: RestartRule) {
    this.#rule = rule;
  }

  /** Consecutive failures without a stable run. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure. @param ranMs duration of the run, or 0 if the start failed @returns milliseconds until the restart */
  next(ranMs: number): number {
    const { firstPauseMs, maxPauseMs, stableAfterMs } = this.#rule;
    this.#failures = ranMs > stableAfterMs ? 1 : this.#failures + 1;
    return Math.min(firstPauseMs * 2 ** (this.#failures - 1), maxPauseMs);
  }
}
