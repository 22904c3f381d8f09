export interface RestartRule {
  /** The pause before the first restart. It doubles after each failure. */
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
  /** If a process ran for longer, earlier failures no longer count. */
  readonly stableAfterMs: number;
}

/** Decides when to restart a process that ends unexpectedly. */
export class Restarts {
  readonly #rule: RestartRule;
  #failures = 0;

  constructor(rule: RestartRule) {
    this.#rule = rule;
  }

  /** Failures in a row, without a stable run between them. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure. @param ranMs how long the process ran; 0 if it did not start @returns the pause before the restart, in milliseconds */
  next(ranMs: number): number {
    const { firstPauseMs, maxPauseMs, stableAfterMs } = this.#rule;
    this.#failures = ranMs > stableAfterMs ? 1 : this.#failures + 1;
    return Math.min(firstPauseMs * 2 ** (this.#failures - 1), maxPauseMs);
  }
}
