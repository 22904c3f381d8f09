/** Returns a permit. Calling it again has no effect. */
export type Release = () => void;

export interface AcquireOptions {
  /** Time limit. Defaults to none. Does not keep the process alive. */
  readonly withinMs?: number;
  /** Withdraws the request while it waits. */
  readonly signal?: AbortSignal;
  /** Requests of one account alternate between lines, such as hosts or API keys. */
  readonly line?: string;
  /** Makes the permit revocable. Ends the work for another account and returns true, or returns false to keep the permit for now. */
  readonly onRevoke?: () => boolean;
}

export interface FairSharesOptions {
  /** Time that an account waits below its share before permits are revoked for it. A permit is also kept at least this long. */
  readonly graceMs?: number;
  /** Maximum waiting requests per account. Further ones are refused. */
  readonly maxWaiting?: number;
  /** An account below its share gets a permit even if none is free. For work that cannot be interrupted. */
  readonly isGuaranteed?: boolean;
  /**
   * Among accounts with the same number of permits, the one whose permits took the least time is served. Permits are granted in the next
   * turn of the event loop, so that a request that continues after a slice of its work keeps its place.
   */
  readonly isTimed?: boolean;
}

interface Waiter {
  readonly line: string;
  readonly onRevoke: (() => boolean) | undefined;
  readonly settle: (release: Release | null) => void;
}

interface RevocablePermit {
  /** By `performance.now()`. */
  since: number;
  readonly revoke: () => void;
}

interface Account {
  readonly name: string;
  used: number;
  waiting: number;
  /** Time that its permits took, if permits are timed. */
  spentMs: number;
  /** Waiting requests. The first line is served next and then moves to the end. */
  readonly lines: Map<string, Set<Waiter>>;
  /** Oldest first. */
  readonly revocable: Set<RevocablePermit>;
  /** Runs while the account waits. */
  grace?: NodeJS.Timeout;
}

const GRACE_MS = 250;
const MAX_WAITING = 10_000;

/**
 * A semaphore that accounts share evenly (docs/adr/0014-fair-shares.md). No request waits while a permit is free. A free permit goes to the
 * waiting account with the fewest permits, and accounts with the same number take turns.
 */
export class FairShares {
  readonly #graceMs: number;
  readonly #maxWaiting: number;
  readonly #isGuaranteed: boolean;
  readonly #isTimed: boolean;
  /** Accounts that use or request permits. They compete for the capacity. */
  readonly #accounts = new Map<string, Account>();
  /** Waiting accounts. Among equals, the first is served next and then moves to the end. */
  readonly #queue = new Set<Account>();
  /** Accounts with revocable permits. */
  readonly #revocable = new Set<Account>();
  /** `spentMs` of idle accounts that have spent more than a competing one. */
  readonly #ahead = new Map<string, number>();
  #capacity: number;
  #used = 0;
  #waiting = 0;

  constructor(capacity: number, options: FairSharesOptions = {}) {
    this.#capacity = capacity;
    this.#graceMs = options.graceMs ?? GRACE_MS;
    this.#maxWaiting = options.maxWaiting ?? MAX_WAITING;
    this.#isGuaranteed = options.isGuaranteed ?? false;
    this.#isTimed = options.isTimed ?? false;
  }

  get used(): number {
    return this.#used;
  }

  get waiting(): number {
    return this.#waiting;
  }

  waitingOf(account: string): number {
    return this.#accounts.get(account)?.waiting ?? 0;
  }

  /** Permits in use stay in use. */
  setCapacity(capacity: number): void {
    this.#capacity = capacity;
    this.#serve();
  }

  /** @returns null if no permit is free */
  tryAcquire(account: string): Release | null {
    return this.#used < this.#capacity ? this.#grant(this.#accountOf(account)) : null;
  }

  /** @returns null if the time is up, the request was withdrawn or refused, or too many requests of the account wait */
  acquire(name: string, options: AcquireOptions = {}): Promise<Release | null> {
    const { withinMs, signal, line = '', onRevoke } = options;
    if (signal?.aborted === true) return Promise.resolve(null);
    const account = this.#accountOf(name);
    if (!this.#isTimed && this.#mayGrant(account)) return Promise.resolve(this.#grant(account, onRevoke));
    if (account.waiting >= this.#maxWaiting) return Promise.resolve(null);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        line,
        onRevoke,
        settle: (release) => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', withdraw);
          resolve(release);
        },
      };
      const withdraw = (): void => {
        this.#dequeue(account, waiter);
        waiter.settle(null);
      };
      const timer = withinMs === undefined ? undefined : setTimeout(withdraw, withinMs).unref();
      signal?.addEventListener('abort', withdraw);
      this.#enqueue(account, waiter);
      if (this.#isTimed) setImmediate(() => this.#serve());
    });
  }

  refuseWaiting(): void {
    for (const account of this.#queue) {
      for (const line of account.lines.values()) {
        for (const waiter of line) {
          this.#dequeue(account, waiter);
          waiter.settle(null);
        }
      }
    }
  }

  #accountOf(name: string): Account {
    return (
      this.#accounts.get(name) ?? {
        name,
        used: 0,
        waiting: 0,
        spentMs: this.#isTimed ? this.#spentBy(name) : 0,
        lines: new Map(),
        revocable: new Set(),
      }
    );
  }

  /** Returns what an account has spent when it begins to compete. An idle account saves no time, and keeps its debts. */
  #spentBy(name: string): number {
    const least = Math.min(...[...this.#accounts.values()].map(({ spentMs }) => spentMs));
    for (const [idle, spentMs] of this.#ahead) if (spentMs <= least) this.#ahead.delete(idle);
    return this.#ahead.get(name) ?? (this.#accounts.size === 0 ? 0 : least);
  }

  #mayGrant(account: Account): boolean {
    if (this.#used < this.#capacity) return true;
    const competing = this.#accounts.size + (this.#accounts.has(account.name) ? 0 : 1);
    return this.#isGuaranteed && account.used < Math.floor(this.#capacity / competing);
  }

  #grant(account: Account, onRevoke?: () => boolean): Release {
    this.#accounts.set(account.name, account);
    this.#used += 1;
    account.used += 1;
    const permit: RevocablePermit = { since: performance.now(), revoke };
    const { since } = permit;
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      this.#used -= 1;
      account.used -= 1;
      account.revocable.delete(permit);
      if (account.revocable.size === 0) this.#revocable.delete(account);
      if (this.#isTimed) {
        account.spentMs += performance.now() - since;
        setImmediate(serveNext);
      } else serveNext();
    };
    const serveNext = (): void => {
      this.#forgetIdle(account);
      this.#serve();
    };
    function revoke(): void {
      if (onRevoke?.() === true) {
        release();
        return;
      }
      permit.since = performance.now();
      account.revocable.delete(permit);
      account.revocable.add(permit);
    }
    if (onRevoke !== undefined) {
      account.revocable.add(permit);
      this.#revocable.add(account);
    }
    return release;
  }

  #enqueue(account: Account, waiter: Waiter): void {
    this.#accounts.set(account.name, account);
    account.lines.set(waiter.line, (account.lines.get(waiter.line) ?? new Set()).add(waiter));
    account.waiting += 1;
    this.#waiting += 1;
    this.#queue.add(account);
    account.grace ??= setInterval(() => this.#revokeFor(account), this.#graceMs).unref();
  }

  #dequeue(account: Account, waiter: Waiter): void {
    const line = account.lines.get(waiter.line);
    line?.delete(waiter);
    if (line?.size === 0) account.lines.delete(waiter.line);
    account.waiting -= 1;
    this.#waiting -= 1;
    if (account.waiting > 0) return;
    this.#queue.delete(account);
    clearInterval(account.grace);
    delete account.grace;
    this.#forgetIdle(account);
  }

  #forgetIdle(account: Account): void {
    if (account.used > 0 || account.waiting > 0 || this.#accounts.get(account.name) !== account) return;
    this.#accounts.delete(account.name);
    if (this.#isTimed) this.#ahead.set(account.name, account.spentMs);
  }

  #serve(): void {
    while (this.#waiting > 0) {
      const account = this.#neediest();
      if (account === undefined || !this.#mayGrant(account)) return;
      const [[name, line] = []] = account.lines;
      const [waiter] = line ?? [];
      if (name === undefined || line === undefined || waiter === undefined) return;
      this.#dequeue(account, waiter);
      if (line.size > 0) {
        account.lines.delete(name);
        account.lines.set(name, line);
      }
      if (this.#queue.delete(account)) this.#queue.add(account);
      waiter.settle(this.#grant(account, waiter.onRevoke));
    }
  }

  /** Returns the waiting account with the fewest permits, and among equals the one that has spent the least time. */
  #neediest(): Account | undefined {
    let neediest: Account | undefined;
    for (const account of this.#queue) {
      if (
        neediest === undefined ||
        account.used < neediest.used ||
        (account.used === neediest.used && account.spentMs < neediest.spentMs)
      )
        neediest = account;
      if (neediest.used === 0 && !this.#isTimed) break;
    }
    return neediest;
  }

  /** Takes permits from accounts above their share until this account has its share, or one permit. */
  #revokeFor(account: Account): void {
    const heldSince = performance.now() - this.#graceMs;
    while (account.waiting > 0) {
      const share = this.#capacity / this.#accounts.size;
      if (account.used >= Math.max(1, Math.floor(share))) return;
      const permit = this.#oldestAbove(share, heldSince);
      if (permit === undefined) return;
      permit.revoke();
    }
  }

  /** Returns the oldest revocable permit of the account with the most permits. */
  #oldestAbove(share: number, heldSince: number): RevocablePermit | undefined {
    let most = share;
    let oldest: RevocablePermit | undefined;
    for (const { used, revocable } of this.#revocable) {
      const [permit] = revocable;
      if (permit === undefined || permit.since > heldSince || used < most || used <= share) continue;
      if (used === most && oldest !== undefined && permit.since >= oldest.since) continue;
      most = used;
      oldest = permit;
    }
    return oldest;
  }
}
