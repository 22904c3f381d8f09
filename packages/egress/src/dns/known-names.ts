/** How many names are remembered: names from accounts, and names that only targets gave. */
const LIMITS = { given: 200_000, redirected: 50_000 };
/** A name that was not looked up for this long may be replaced by a new one. */
const STALE_AFTER_MS = 3_600_000;

interface KnownName {
  readonly resolved: boolean;
  readonly notedAt: number;
}

export class KnownNames {
  readonly #given: NameTable;
  /** Names that only targets gave. There may be any number of them. */
  readonly #redirected: NameTable;

  constructor(now: () => number, limits = LIMITS) {
    this.#given = new NameTable(limits.given, now);
    this.#redirected = new NameTable(limits.redirected, now);
  }

  /** Null: unknown. */
  didResolve(account: string, name: string): boolean | null {
    return (this.#given.get(account, name) ?? this.#redirected.get(account, name))?.resolved ?? null;
  }

  /** @param redirected whether the name comes from the target and not from the account */
  note(account: string, name: string, resolved: boolean, redirected: boolean): void {
    const names = redirected && this.#given.get(account, name) === undefined ? this.#redirected : this.#given;
    names.set(account, name, resolved);
  }

  forget(account: string, name: string): void {
    this.#given.delete(account, name);
    this.#redirected.delete(account, name);
  }
}

/** A limited number of names, shared fairly: an account with more than its share replaces only its own names. */
class NameTable {
  readonly #limit: number;
  readonly #now: () => number;
  /** By account, the name looked up longest ago first. */
  readonly #accounts = new Map<string, Map<string, KnownName>>();
  #size = 0;

  constructor(limit: number, now: () => number) {
    this.#limit = limit;
    this.#now = now;
  }

  get(account: string, name: string): KnownName | undefined {
    return this.#accounts.get(account)?.get(name);
  }

  set(account: string, name: string, resolved: boolean): void {
    this.delete(account, name);
    if (this.#size >= this.#limit && !this.#makeRoom(account)) return;
    const names = this.#accounts.get(account) ?? new Map<string, KnownName>();
    this.#accounts.set(account, names.set(name, { resolved, notedAt: this.#now() }));
    this.#size += 1;
  }

  delete(account: string, name: string): void {
    const names = this.#accounts.get(account);
    if (names?.delete(name) !== true) return;
    this.#size -= 1;
    if (names.size === 0) this.#accounts.delete(account);
  }

  /** Deletes the oldest name of the largest account, or of this one if it has used its share. @returns false if that name is in use */
  #makeRoom(account: string): boolean {
    let from = account;
    let names: ReadonlyMap<string, KnownName> = this.#accounts.get(account) ?? new Map();
    const hasRoom = names.size < Math.floor(this.#limit / Math.max(1, this.#accounts.size));
    if (hasRoom) {
      for (const [other, others] of this.#accounts)
        if (others.size > names.size) [from, names] = [other, others];
    }
    const [oldest] = names;
    if (oldest === undefined) return false;
    if (!hasRoom && this.#now() - oldest[1].notedAt < STALE_AFTER_MS) return false;
    this.delete(from, oldest[0]);
    return true;
  }
}
