/** Returns a permit. Calling it again has no effect. */
export type Release = () => void;

/** The owners of a permit, by kind: `{ account: '…', host: '…' }`. */
export type Owners<Kind extends string> = Readonly<Record<Kind, string>>;

export interface FairLimiterOptions<Kind extends string> {
  /** Permits in total. */
  readonly limit: number;
  /** Permits per owner, for each kind of owner. */
  readonly limits: Readonly<Record<Kind, number>>;
  /** The kind of owner among whom free permits are shared evenly. */
  readonly sharedBy: NoInfer<Kind>;
  /** Whether the limit of a kind does not apply while only one owner of that kind holds or requests permits. Default: false. */
  readonly soleOwnerMayUseAll?: boolean;
}

interface Waiter<Kind extends string> {
  readonly owners: Owners<Kind>;
  readonly settle: (release: Release | null) => void;
}

/** The waiting requests of one owner. Requests with the same other owners form a line, and the lines take turns. */
type Lines<Kind extends string> = Map<string, Set<Waiter<Kind>>>;

/** Permits and waiting requests of one owner. */
interface Usage {
  held: number;
  waiting: number;
}

/**
 * A semaphore that one owner cannot exhaust: each owner holds a limited number of permits, and a free permit goes to the waiting owner
 * with the fewest permits. Owners with the same number take turns.
 */
export class FairLimiter<Kind extends string> {
  readonly #options: FairLimiterOptions<Kind>;
  readonly #kinds: readonly Kind[];
  readonly #usage: Readonly<Record<Kind, Map<string, Usage>>>;
  #held = 0;
  /** By owner of the kind `sharedBy`. */
  readonly #queues = new Map<string, Lines<Kind>>();
  /** The owners with a queue, by the number of their permits. */
  readonly #byHeld = new Map<number, Set<string>>();
  #waiting = 0;

  constructor(options: FairLimiterOptions<Kind>) {
    this.#options = options;
    this.#kinds = Object.keys(options.limits) as Kind[];
    const usage = this.#kinds.map((kind) => [kind, new Map<string, Usage>()]);
    this.#usage = Object.fromEntries(usage) as Record<Kind, Map<string, Usage>>;
  }

  /** Permits in use. */
  get held(): number {
    return this.#held;
  }

  /** Requests that wait for a permit. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Requests of one owner that wait for a permit. */
  waitingOf(kind: Kind, owner: string): number {
    return this.#usage[kind].get(owner)?.waiting ?? 0;
  }

  /** Null if no permit is free for these owners. */
  tryAcquire(owners: Owners<Kind>): Release | null {
    return this.#fits(owners) ? this.#take(owners) : null;
  }

  /** Counts running work against the limits of its owners, but not against the total: other owners get as many permits as before. */
  charge(owners: Owners<Kind>): Release {
    this.#count(owners, { held: 1 });
    return this.#once(() => this.#count(owners, { held: -1 }));
  }

  /**
   * Waits for a permit.
   * @param withinMs how long, in milliseconds
   * @returns null if no permit was free in time
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
        // Another owner may be the sole one now, and may use more.
        if (this.#options.soleOwnerMayUseAll === true) this.#serve();
      }, withinMs);
      this.#enqueue(waiter);
    });
  }

  /** Refuses all waiting requests. */
  refuseWaiting(): void {
    const lines = Array.from(this.#queues.values()).flatMap((queue) => Array.from(queue.values()));
    for (const waiter of lines.flatMap((line) => Array.from(line))) {
      this.#dequeue(waiter);
      waiter.settle(null);
    }
  }

  #fits(owners: Owners<Kind>): boolean {
    if (this.#held >= this.#options.limit) return false;
    return this.#kinds.every((kind) => this.#hasRoom(kind, owners[kind]));
  }

  #hasRoom(kind: Kind, owner: string): boolean {
    const { limits, soleOwnerMayUseAll = false } = this.#options;
    const usage = this.#usage[kind].get(owner);
    if (usage === undefined || usage.held < limits[kind]) return true;
    return soleOwnerMayUseAll && this.#usage[kind].size === 1;
  }

  #take(owners: Owners<Kind>): Release {
    this.#held += 1;
    this.#count(owners, { held: 1 });
    return this.#once(() => {
      this.#held -= 1;
      this.#count(owners, { held: -1 });
    });
  }

  #once(end: () => void): Release {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      end();
      this.#serve();
    };
  }

  #count(owners: Owners<Kind>, { held = 0, waiting = 0 }: Partial<Usage>): void {
    for (const kind of this.#kinds) {
      const owner = owners[kind];
      const usage = this.#usage[kind].get(owner) ?? { held: 0, waiting: 0 };
      const rank = rankOf(usage);
      usage.held += held;
      usage.waiting += waiting;
      if (kind === this.#options.sharedBy) this.#move(owner, rank, rankOf(usage));
      if (usage.held === 0 && usage.waiting === 0) this.#usage[kind].delete(owner);
      else this.#usage[kind].set(owner, usage);
    }
  }

  /** Moves an owner between the sets of `#byHeld`. */
  #move(owner: string, from: number | null, to: number | null): void {
    if (from === to) return;
    const left = from === null ? undefined : this.#byHeld.get(from);
    left?.delete(owner);
    if (from !== null && left?.size === 0) this.#byHeld.delete(from);
    if (to === null) return;
    const joined = this.#byHeld.get(to);
    if (joined) joined.add(owner);
    else this.#byHeld.set(to, new Set([owner]));
  }

  /** The name of the line in which requests of these owners wait. */
  #lineOf(owners: Owners<Kind>): string {
    return this.#kinds
      .filter((kind) => kind !== this.#options.sharedBy)
      .map((kind) => owners[kind])
      .join('\n');
  }

  #enqueue(waiter: Waiter<Kind>): void {
    const { owners } = waiter;
    const owner = owners[this.#options.sharedBy];
    const lines: Lines<Kind> = this.#queues.get(owner) ?? new Map();
    this.#queues.set(owner, lines);
    const name = this.#lineOf(owners);
    const line = lines.get(name);
    if (line) line.add(waiter);
    else lines.set(name, new Set([waiter]));
    this.#waiting += 1;
    this.#count(owners, { waiting: 1 });
  }

  /** Removes a request from its line and moves the line to the end. */
  #dequeue(waiter: Waiter<Kind>): void {
    const { owners } = waiter;
    const owner = owners[this.#options.sharedBy];
    const lines = this.#queues.get(owner);
    const name = this.#lineOf(owners);
    const line = lines?.get(name);
    if (lines === undefined || line?.delete(waiter) !== true) return;
    lines.delete(name);
    if (line.size > 0) lines.set(name, line);
    if (lines.size === 0) this.#queues.delete(owner);
    this.#waiting -= 1;
    this.#count(owners, { waiting: -1 });
  }

  /** Gives free permits to waiting requests. */
  #serve(): void {
    while (this.#waiting > 0 && this.#held < this.#options.limit) {
      const next = this.#next();
      if (next === null) return;
      this.#dequeue(next);
      next.settle(this.#take(next.owners));
    }
  }

  /** The first request that fits, of the owners with the fewest permits. */
  #next(): Waiter<Kind> | null {
    const ascending = Array.from(this.#byHeld).toSorted(([one], [other]) => one - other);
    for (const [, owners] of ascending) {
      for (const owner of owners) {
        // The others of this set hold as many permits.
        if (!this.#hasRoom(this.#options.sharedBy, owner)) break;
        const fitting = this.#firstFitting(this.#queues.get(owner));
        if (fitting !== null) return fitting;
      }
    }
    return null;
  }

  /** Checks one request of each line: the others of a line have the same owners. */
  #firstFitting(lines: Lines<Kind> | undefined): Waiter<Kind> | null {
    for (const line of lines?.values() ?? []) {
      const [first] = line;
      if (first !== undefined && this.#fits(first.owners)) return first;
    }
    return null;
  }
}

/** The number of permits of an owner with waiting requests; null for other owners. */
function rankOf({ held, waiting }: Usage): number | null {
  return waiting > 0 ? held : null;
}
