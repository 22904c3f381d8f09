/** Steps that the assertions of one check may take, which is about 40 ms of CPU time. */
export const MAX_STEPS = 400_000;

export class BudgetExceededError extends Error {
  override readonly name = 'BudgetExceededError';
}

/** Bounds the work of one check, because expressions and bodies of users must not block the process. */
export class Budget {
  #left = MAX_STEPS;

  /** @throws BudgetExceededError */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new BudgetExceededError();
  }
}
