/** Gives a place back. Calling it again does nothing. */
export type Release = () => void;

/** Who holds a place, by kind: `{ account: '…', host: '…' }`. */
export type Owners<Kind extends string> = Readonly<Record<Kind, string>>;

export interface FairLimiterOptions<Kind extends string> {
  /** Places in all. */
  readonly limit: number;
  /** Places that one owner may hold, for each kind of owner. */
  readonly limits: Readonly<Record<Kind, number>>;
  /** The kind among whose owners places that become free are shared evenly. */
  readonly sharedBy: NoInfer<Kind>;
}

interface Waiter<Kind extends string> {
  readonly owners: Owners<Kind>;
  readonly settle: (release: Release | null) => void;
}

/**
 * A semaphore that one owner cannot use up: each owner holds a limited number of places, and a free place goes to the waiting owner
 * that holds the fewest. Owners of the same kind are told apart by name.
 */
export class FairLimiter<Kind extends string> {
  readonly #options: FairLimiterOptions<Kind>;
  readonly #kinds: readonly Kind[];
  #held = 0;
  readonly #heldBy = new Map<string, number>();
  /** By owner of the kind that shares, in the order of their requests. */
  readonly #queues = new Map<string, Set<Waiter<Kind>>>();
  #waiting = 0;

  constructor(options: FairLimiterOptions<Kind>) {
    this.#options = options;
    this.#kinds = Object.keys(options.limits) as Kind[];
  }

  /** Places that are held now. */
  get held(): number {
    return this.#held;
  }

  /** Requests that wait for a place. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Takes a place if one is free for these owners; null if not. */
  tryAcquire(owners: Owners<Kind>): Release | null {
    return this.#fits(owners) ? this.#take(owners) : null;
  }

  /** Takes a place whether or not one is free: for work that already runs. Others wait until it is back below the limits. */
  force(owners: Owners<Kind>): Release {
    return this.#take(owners);
  }

  /**
   * Waits for a place.
   * @param withinMs how long, in milliseconds
   * @returns null when no place came free in time
   */
  acquire(owners: Owners<Kind>, withinMs: number): Promise<Release | null> {
    const release = this.tryAcquire(owners);
    if (release !== null) return Promise.resolve(release);
    return new Promise((resolve) => {
      const waiter: Waiter<Kind> = {
        owners,
        settle: (release) => {
          clearTimeout(timer);
          resolve(release);
        },
      };
      const timer = setTimeout(() => {
        this.#dequeue(waiter);
        resolve(null);
      }, withinMs);
      this.#enqueue(waiter);
    });
  }

  /** Refuses everybody who waits. */
  refuseWaiting(): void {
    const waiters = [...this.#queues.values()].flatMap((queue) => [...queue]);
    for (const waiter of waiters) {
      this.#dequeue(waiter);
      waiter.settle(null);
    }
  }

  #fits(owners: Owners<Kind>): boolean {
    if (this.#held >= this.#options.limit) return false;
    return this.#kinds.every((kind) => this.#heldOf(kind, owners[kind]) < this.#options.limits[kind]);
  }

  #take(owners: Owners<Kind>): Release {
    this.#count(owners, 1);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#count(owners, -1);
      this.#serve();
    };
  }

  #count(owners: Owners<Kind>, change: 1 | -1): void {
    this.#held += change;
    for (const kind of this.#kinds) {
      const key = `${kind}:${owners[kind]}`;
      const held = (this.#heldBy.get(key) ?? 0) + change;
      if (held === 0) this.#heldBy.delete(key);
      else this.#heldBy.set(key, held);
    }
  }

  #heldOf(kind: Kind, owner: string): number {
    return this.#heldBy.get(`${kind}:${owner}`) ?? 0;
  }

  #enqueue(waiter: Waiter<Kind>): void {
    const owner = waiter.owners[this.#options.sharedBy];
    const queue = this.#queues.get(owner);
    if (queue) queue.add(waiter);
    else this.#queues.set(owner, new Set([waiter]));
    this.#waiting += 1;
  }

  #dequeue(waiter: Waiter<Kind>): void {
    const owner = waiter.owners[this.#options.sharedBy];
    const queue = this.#queues.get(owner);
    if (queue?.delete(waiter) !== true) return;
    if (queue.size === 0) this.#queues.delete(owner);
    this.#waiting -= 1;
  }

  /** Hands free places to those that wait. */
  #serve(): void {
    while (this.#waiting > 0 && this.#held < this.#options.limit) {
      const next = this.#next();
      if (next === null) return;
      this.#dequeue(next);
      next.settle(this.#take(next.owners));
    }
  }

  /** Of the owners that hold the fewest places, the first request that fits. */
  #next(): Waiter<Kind> | null {
    let best: Waiter<Kind> | null = null;
    let fewest = Infinity;
    for (const [owner, queue] of this.#queues) {
      const held = this.#heldOf(this.#options.sharedBy, owner);
      if (held >= fewest) continue;
      const fitting = this.#firstFitting(queue);
      if (fitting === null) continue;
      best = fitting;
      fewest = held;
    }
    return best;
  }

  #firstFitting(queue: ReadonlySet<Waiter<Kind>>): Waiter<Kind> | null {
    for (const waiter of queue) if (this.#fits(waiter.owners)) return waiter;
    return null;
  }
}
