interface Waiter {
  readonly owner: string;
  readonly admit: () => void;
}

/** Places that only so many have at a time, and each owner one. */
export class Places {
  readonly #most: number;
  readonly #owners = new Set<string>();
  readonly #waiting: Waiter[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Those who wait are admitted in their order. @returns false where none got free in time */
  async take(owner: string, withinMs: number): Promise<boolean> {
    if (this.#isFreeFor(owner)) {
      this.#owners.add(owner);
      return true;
    }
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        resolve(false);
      }, withinMs);
      const waiter: Waiter = {
        owner,
        admit: () => {
          clearTimeout(late);
          resolve(true);
        },
      };
      this.#waiting.push(waiter);
    });
  }

  /** Once for each time that a place was taken. */
  giveBack(owner: string): void {
    this.#owners.delete(owner);
    const next = this.#waiting.findIndex((waiter) => this.#isFreeFor(waiter.owner));
    const [waiter] = next === -1 ? [] : this.#waiting.splice(next, 1);
    if (waiter === undefined) return;
    this.#owners.add(waiter.owner);
    waiter.admit();
  }

  #isFreeFor(owner: string): boolean {
    return this.#owners.size < this.#most && !this.#owners.has(owner);
  }
}
