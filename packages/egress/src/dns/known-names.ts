import type { LookupAddress } from 'node:dns';

/** Remembered names, from accounts and from targets. */
const LIMITS = { given: 200_000, redirected: 50_000 };
/** A new name may replace one that has not been looked up for this long. */
const STALE_AFTER_MS = 3_600_000;

type Addresses = readonly LookupAddress[];

interface KnownName {
  readonly addresses: Addresses;
  readonly notedAt: number;
}

/** Remembers names that resolved the last time, and their addresses. */
export class KnownNames {
  readonly #given: NameTable;
  /** Names that only targets chose. They are separate, because targets may choose any number. */
  readonly #redirected: NameTable;

  constructor(now: () => number, limits = LIMITS) {
    this.#given = new NameTable(limits.given, now);
    this.#redirected = new NameTable(limits.redirected, now);
  }

  /** Returns the last addresses of the name, or null if it is not known. */
  get(account: string, name: string): Addresses | null {
    return this.#given.get(account, name) ?? this.#redirected.get(account, name);
  }

  /** @param isRedirected true if the target chose the name by a redirect */
  note(account: string, name: string, addresses: Addresses, isRedirected: boolean): void {
    const names = isRedirected && this.#given.get(account, name) === null ? this.#redirected : this.#given;
    names.set(account, name, addresses);
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

  get(account: string, name: string): Addresses | null {
    return this.#accounts.get(account)?.get(name)?.addresses ?? null;
  }

  set(account: string, name: string, addresses: Addresses): void {
    this.delete(account, name);
    if (this.#size >= this.#limit && !this.#makeRoom(account)) return;
    const names = this.#accounts.get(account) ?? new Map<string, KnownName>();
    this.#accounts.set(account, names.set(name, { addresses, notedAt: this.#now() }));
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
