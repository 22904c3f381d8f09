const KEEP_MS = 2 * 60_000;
const MAX_NAMES = 100_000;

/** Remembers names without IPv6 addresses for two minutes. Asking at every check would double the queries. */
export class Ipv4OnlyNames {
  readonly #now: () => number;
  readonly #addedAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  has(name: string): boolean {
    const addedAt = this.#addedAt.get(name);
    return addedAt !== undefined && this.#now() - addedAt < KEEP_MS;
  }

  add(name: string): void {
    this.#addedAt.delete(name);
    this.#addedAt.set(name, this.#now());
    const [oldest] = this.#addedAt.keys();
    if (this.#addedAt.size > MAX_NAMES && oldest !== undefined) this.#addedAt.delete(oldest);
  }
}
