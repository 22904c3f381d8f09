interface PausedVisit<Visit> {
  readonly visit: Visit;
  release(): void;
}

interface Waiter<Visit> {
  readonly accepts: (visit: Visit) => boolean;
  readonly hold: (held: PausedVisit<Visit>) => void;
}

/** Holds a visit that a caller of `next` waits for until the caller releases it. Other visits pass at once. */
export class Checkpoint<Visit> {
  readonly #waiters = new Set<Waiter<Visit>>();

  /** Resolves when the visit may continue. */
  async pass(visit: Visit): Promise<void> {
    const waiter = [...this.#waiters].find(({ accepts }) => accepts(visit));
    if (waiter === undefined) return;
    this.#waiters.delete(waiter);
    await new Promise<void>((release) => waiter.hold({ visit, release }));
  }

  /** Holds the next visit of a kind. Returns null if none comes in time. */
  next(accepts: (visit: Visit) => boolean, withinMs: number): Promise<PausedVisit<Visit> | null> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        resolve(null);
      }, withinMs);
      const hold = (held: PausedVisit<Visit>): void => {
        clearTimeout(timer);
        resolve(held);
      };
      const waiter = { accepts, hold };
      this.#waiters.add(waiter);
    });
  }
}
