/** A visit that waits. */
interface Held<Visit> {
  readonly visit: Visit;
  release(): void;
}

interface Waiter<Visit> {
  readonly accepts: (visit: Visit) => boolean;
  readonly hold: (held: Held<Visit>) => void;
}

/** Visits pass it at once, unless a caller of `next` waits for one of their kind: that one is held until it is released. */
export class Checkpoint<Visit> {
  readonly #waiters = new Set<Waiter<Visit>>();

  /** Resolves when the visit may continue. */
  async pass(visit: Visit): Promise<void> {
    for (const waiter of this.#waiters) {
      if (!waiter.accepts(visit)) continue;
      this.#waiters.delete(waiter);
      return new Promise((resolve) => waiter.hold({ visit, release: resolve }));
    }
  }

  /** The next visit of a kind, held; null if none comes in time. */
  next(accepts: (visit: Visit) => boolean, withinMs: number): Promise<Held<Visit> | null> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        resolve(null);
      }, withinMs);
      const waiter: Waiter<Visit> = {
        accepts,
        hold: (held) => {
          clearTimeout(timer);
          resolve(held);
        },
      };
      this.#waiters.add(waiter);
    });
  }
}
