interface RecentNamesOptions {
  /** How long a name counts, in milliseconds. */
  readonly forMs: number;
  /** Beyond this many, the name that was added first is dropped. */
  readonly limit: number;
  readonly now: () => number;
}

/** Names that were added recently. */
export class RecentNames {
  readonly #options: RecentNamesOptions;
  readonly #addedAt = new Map<string, number>();

  constructor(options: RecentNamesOptions) {
    this.#options = options;
  }

  has(name: string): boolean {
    const addedAt = this.#addedAt.get(name);
    return addedAt !== undefined && this.#options.now() - addedAt < this.#options.forMs;
  }

  add(name: string): void {
    this.#addedAt.delete(name);
    this.#addedAt.set(name, this.#options.now());
    const [oldest] = this.#addedAt.keys();
    if (this.#addedAt.size > this.#options.limit && oldest !== undefined) this.#addedAt.delete(oldest);
  }
}
