/** Draws pseudo-random numbers from a seed (mulberry32). */
export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Draws a whole number from 0 to `end` (exclusive). */
  below(end: number): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) >>> 0;
    let value = this.#state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) % end;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError('cannot pick from an empty list');
    return item;
  }

  /** Draws each item with a probability of 1/`oneIn`. */
  some<Item>(items: readonly Item[], oneIn = 3): Item[] {
    return items.filter(() => this.below(oneIn) === 0);
  }
}
