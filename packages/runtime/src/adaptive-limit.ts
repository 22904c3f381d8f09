const REDUCE_TO = 0.75;
const RAISE_BY = 0.1;

/** A limit that falls below the work in progress during an overload, and rises gradually. */
export class AdaptiveLimit {
  readonly #max: number;
  readonly #min: number;
  #limit: number;

  constructor(max: number, min: number, initial = max) {
    this.#max = max;
    this.#min = Math.min(max, min);
    this.#limit = initial;
  }

  get current(): number {
    return this.#limit;
  }

  /** @param used work in progress @returns the new limit */
  reduce(used: number): number {
    const { floor, max, min } = Math;
    return (this.#limit = max(this.#min, floor(min(this.#limit, max(used, this.#min)) * REDUCE_TO)));
  }

  /** @param by defaults to a tenth of the limit @returns the new limit */
  raise(by = Math.ceil(this.#limit * RAISE_BY)): number {
    return (this.#limit = Math.min(this.#max, this.#limit + by));
  }
}
