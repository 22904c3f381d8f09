/** Returns a permit. Calling it again has no effect. */
export type Release = () => void;

/** Owners by kind, such as `{ account: '…', host: '…' }`. */
export type Owners<Kind extends string> = Readonly<Record<Kind, string>>;

export interface FairLimiterOptions<Kind extends string> {
  readonly limit: number;
  readonly limits: Readonly<Record<Kind, number>>;
  /** Free permits are shared evenly among owners of this kind. */
  readonly sharedBy: NoInfer<Kind>;
  /** Lifts the limit of a kind while only one owner of that kind uses or requests permits. */
  readonly soleOwnerMayUseAll?: boolean;
}

interface Waiter<Kind extends string> {
  readonly owners: Owners<Kind>;
  readonly settle: (release: Release | null) => void;
}

/** Waiting requests of one owner. Requests with the same other owners form a line, and the lines alternate. */
type Lines<Kind extends string> = Map<string, Set<Waiter<Kind>>>;

interface Usage {
  used: number;
  waiting: number;
}

/** A semaphore that no owner can exhaust, because a free permit goes to the owner with the fewest permits (docs/adr/0014-fair-shares.md). */
export class FairLimiter<Kind extends string> {
  readonly #options: FairLimiterOptions<Kind>;
  readonly #kinds: readonly Kind[];
  readonly #usage: Readonly<Record<Kind, Map<string, Usage>>>;
  readonly #queues = new Map<string, Lines<Kind>>();
  /** Waiting owners by their number of permits. */
  readonly #ranks = new Map<number, Set<string>>();
  #limit: number;
  #used = 0;
  #waiting = 0;

  constructor(options: FairLimiterOptions<Kind>) {
    this.#options = options;
    this.#limit = options.limit;
    this.#kinds = Object.keys(options.limits) as Kind[];
    const usage = this.#kinds.map((kind) => [kind, new Map<string, Usage>()]);
    this.#usage = Object.fromEntries(usage) as Record<Kind, Map<string, Usage>>;
  }

  get used(): number {
    return this.#used;
  }

  get waiting(): number {
    return this.#waiting;
  }

  waitingOf(kind: Kind, owner: string): number {
    return this.#usage[kind].get(owner)?.waiting ?? 0;
  }

  /** Changes the total number of permits. Permits in use stay in use. */
  setLimit(limit: number): void {
    this.#limit = limit;
    this.#serve();
  }

  /** Returns null if no permit is free for these owners. */
  tryAcquire(owners: Owners<Kind>): Release | null {
    return this.#fits(owners) ? this.#take(owners, 1) : null;
  }

  /** Counts running work against the limits of its owners but not against the total, so that other owners lose no permits. */
  charge(owners: Owners<Kind>): Release {
    return this.#take(owners, 0);
  }

  /** Waits up to `withinMs` for a permit, without keeping the process alive. @returns null if none became free */
  acquire(owners: Owners<Kind>, withinMs: number): Promise<Release | null> {
    const release = this.tryAcquire(owners);
    if (release !== null) return Promise.resolve(release);
    return new Promise((resolve) => {
      const waiter: Waiter<Kind> = {
        owners,
        settle: (release) => {
          clearTimeout(timer);
          this.#dequeue(waiter);
          resolve(release);
        },
      };
      const timer = setTimeout(() => {
        waiter.settle(null);
        // A sole remaining owner may use more.
        this.#serve();
      }, withinMs).unref();
      this.#enqueue(waiter);
    });
  }

  refuseWaiting(): void {
    const lines = Array.from(this.#queues.values()).flatMap((queue) => Array.from(queue.values()));
    for (const waiter of lines.flatMap((line) => Array.from(line))) waiter.settle(null);
  }

  #fits(owners: Owners<Kind>): boolean {
    return this.#used < this.#limit && this.#kinds.every((kind) => this.#hasRoom(kind, owners[kind]));
  }

  #hasRoom(kind: Kind, owner: string): boolean {
    const { limits, soleOwnerMayUseAll = false } = this.#options;
    const usage = this.#usage[kind].get(owner);
    if (usage === undefined || usage.used < limits[kind]) return true;
    return soleOwnerMayUseAll && this.#usage[kind].size === 1;
  }

  /** @param permits number counted against the total, which is 1, or 0 for a charge */
  #take(owners: Owners<Kind>, permits: number): Release {
    let isReleased = false;
    this.#used += permits;
    this.#count(owners, 1, 0);
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#used -= permits;
      this.#count(owners, -1, 0);
      this.#serve();
    };
  }

  #count(owners: Owners<Kind>, used: number, waiting: number): void {
    for (const kind of this.#kinds) {
      const owner = owners[kind];
      const usage = this.#usage[kind].get(owner) ?? { used: 0, waiting: 0 };
      const before = rankOf(usage);
      usage.used += used;
      usage.waiting += waiting;
      if (kind === this.#options.sharedBy) this.#rank(owner, before, rankOf(usage));
      if (usage.used === 0 && usage.waiting === 0) this.#usage[kind].delete(owner);
      else this.#usage[kind].set(owner, usage);
    }
  }

  /** An owner whose rank does not change keeps its position. */
  #rank(owner: string, before: number | null, after: number | null): void {
    if (before === after) return;
    const owners = before === null ? undefined : this.#ranks.get(before);
    owners?.delete(owner);
    if (before !== null && owners?.size === 0) this.#ranks.delete(before);
    if (after !== null) this.#ranks.set(after, (this.#ranks.get(after) ?? new Set<string>()).add(owner));
  }

  #lineOf(owners: Owners<Kind>): string {
    return this.#kinds.map((kind) => (kind === this.#options.sharedBy ? '' : owners[kind])).join('\n');
  }

  #enqueue(waiter: Waiter<Kind>): void {
    const { owners } = waiter;
    const owner = owners[this.#options.sharedBy];
    const lines: Lines<Kind> = this.#queues.get(owner) ?? new Map();
    const name = this.#lineOf(owners);
    this.#queues.set(owner, lines.set(name, (lines.get(name) ?? new Set()).add(waiter)));
    this.#waiting += 1;
    this.#count(owners, 0, 1);
  }

  /** Removes a request and moves its line to the end. */
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
    this.#count(owners, 0, -1);
  }

  #serve(): void {
    while (this.#waiting > 0 && this.#used < this.#limit) {
      const next = this.#next();
      if (next === null) return;
      next.settle(this.#take(next.owners, 1));
    }
  }

  /** Returns the first request that fits, starting with the owners with the fewest permits. */
  #next(): Waiter<Kind> | null {
    const ascending = Array.from(this.#ranks).toSorted(([one], [other]) => one - other);
    for (const [, owners] of ascending) {
      for (const owner of owners) {
        if (!this.#hasRoom(this.#options.sharedBy, owner)) return null;
        // All requests of a line have the same owners.
        for (const line of this.#queues.get(owner)?.values() ?? []) {
          const [first] = line;
          if (first !== undefined && this.#fits(first.owners)) return first;
        }
      }
    }
    return null;
  }
}

function rankOf({ used, waiting }: Usage): number | null {
  return waiting > 0 ? used : null;
}
