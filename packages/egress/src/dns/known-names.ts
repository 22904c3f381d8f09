/** Remembered names, from accounts and from targets. */
const LIMITS = { given: 200_000, redirected: 50_000 };
/** A new name may replace one that has not been looked up for this long. */
const STALE_AFTER_MS = 3_600_000;

interface KnownName {
  readonly resolved: boolean;
  readonly notedAt: number;
}

export class KnownNames {
  readonly #given: NameTable;
  /** Names that only targets chose. They are separate, because targets may choose any number. */
  readonly #redirected: NameTable;

  constructor(now: () => number, limits = LIMITS) {
    this.#given = new NameTable(limits.given, now);
    this.#redirected = new NameTable(limits.redirected, now);
  }

  /** Null if unknown. */
  didResolve(account: string, name: string): boolean | null {
    return (this.#given.get(account, name) ?? this.#redirected.get(account, name))?.resolved ?? null;
  }

  /** @param redirected true if the target chose the name by a redirect */
  note(account: string, name: string, resolved: boolean, redirected: boolean): void {
    const names = redirected && this.#given.get(account, name) === undefined ? this.#redirected : this.#given;
    names.set(account, name, resolved);
  }

  forget(account: string, name: string): void {
    this.#given.delete(account, name);
    this.#redirected.delete(account, name);
  }
}

/** Shares a limited number of names fairly. An account that exceeds its share replaces only its own names. */
class NameTable {
  readonly #limit: number;
  readonly #now: () => number;
  /** Names by account, least recently looked up first. */
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

  /** Deletes the oldest name of the largest account, or of this one if it has used its share. @returns false if it is still in use */
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
