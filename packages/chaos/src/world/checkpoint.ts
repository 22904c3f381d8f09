/** Somebody who came by and is kept waiting. */
export interface Held<Visit> {
  readonly visit: Visit;
  release(): void;
}

interface Waiter<Visit> {
  readonly accepts: (visit: Visit) => boolean;
  readonly hold: (held: Held<Visit>) => void;
}

/** A place that visits pass at once, unless somebody waits there for one of their kind: that one is held until it is released. */
export class Checkpoint<Visit> {
  readonly #waiters = new Set<Waiter<Visit>>();

  /** Resolves when the visit may go on. */
  async pass(visit: Visit): Promise<void> {
    for (const waiter of this.#waiters) {
      if (!waiter.accepts(visit)) continue;
      this.#waiters.delete(waiter);
      return new Promise((resolve) => waiter.hold({ visit, release: resolve }));
    }
  }

  /** The next visit of a kind, held; null where none comes in time. */
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
