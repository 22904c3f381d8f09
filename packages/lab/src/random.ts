/** Numbers that look random and are a pure function of a seed (mulberry32). */
export class Random {
  #state: number;

  /** @param purpose generators with different purposes are independent, so a draw from one does not change another */
  constructor(seed: number, purpose = '') {
    this.#state = seed >>> 0;
    for (const character of purpose) {
      this.#state = (Math.imul(this.#state, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
      this.next();
    }
  }

  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) >>> 0;
    let value = this.#state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number. Both ends are included. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.integer(0, items.length - 1)];
    if (item === undefined) throw new RangeError('cannot pick from an empty list');
    return item;
  }

  shuffle<Item>(items: readonly Item[]): Item[] {
    return items
      .map((item) => ({ item, order: this.next() }))
      .sort((one, other) => one.order - other.order)
      .map(({ item }) => item);
  }
}
