/** A visit that waits until it is released. */
interface PausedVisit<Visit> {
  readonly visit: Visit;
  release(): void;
}

interface Waiter<Visit> {
  readonly accepts: (visit: Visit) => boolean;
  readonly hold: (held: PausedVisit<Visit>) => void;
}

/** Visits pass it at once, unless a caller of `next` waits for one of their kind: that one is held until it is released. */
export class Checkpoint<Visit> {
  readonly #waiters = new Set<Waiter<Visit>>();

  /** Resolves when the visit may continue. */
  async pass(visit: Visit): Promise<void> {
    const waiter = [...this.#waiters].find(({ accepts }) => accepts(visit));
    if (waiter === undefined) return;
    this.#waiters.delete(waiter);
    await new Promise<void>((release) => waiter.hold({ visit, release }));
  }

  /** The next visit of a kind, held; null if none comes in time. */
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
