import type { LookupAddress } from 'node:dns';
import { FairLimiter, type Release } from '@tocsin/runtime/fair-limiter';
import { KnownNames } from './known-names.ts';
import {
  afterReading,
  lookupError,
  type LookupAll,
  type RunningLookup,
  type StartLookup,
} from './name-resolver.ts';

type Options = Parameters<LookupAll>[1];
type Callback = Parameters<LookupAll>[2];

/** On whose behalf a name is looked up. */
export interface LookupOwner {
  readonly account: string;
  readonly resource: string;
  /** Whether the name comes from the target (a redirect) and not from the account. */
  readonly redirected: boolean;
  /** When the result is no longer needed, by `performance.now()`. */
  readonly deadline: number;
  /** Called with true if the lookup waits for others of its account, which says nothing about the name, and with false when it begins. */
  readonly onWaiting?: (isWaiting: boolean) => void;
}

export type OwnedLookup = (
  hostname: string,
  options: Options,
  owner: LookupOwner,
  callback: Callback,
) => void;

const HANGS_AFTER_MS = 1_000;
/** How long a caller waits for a lookup. */
const LOOKUP_WITHIN_MS = 10_000;
/** How long a forwarder keeps a query without a response (dnsmasq: 10 s), also after the lookup has ended here. */
const FORWARDER_KEEPS_MS = 10_000;
/** Callers have timers of their own for their deadline. The lookup fails a little later, so that they report a time-out. */
const AFTER_DEADLINE_MS = 100;
/** A timer that is later than this shows that the process was short of CPU. The caller then gets more time, once. */
const LATE_MS = 500;
const EXTRA_MS = 1_000;
/** Callers of one lookup whose deadlines are within this time fail together. */
const END_EVERY_MS = 50;

/** Concurrent lookups of names that resolved the last time. A lookup that hangs does not count after a second. */
const KNOWN_LIMITS = { limit: 1_000, limits: { account: 600, resource: 4 } } as const;

/** Concurrent lookups of other names, two queries each. They protect name servers: dnsmasq forwards 150 queries and refuses more. */
const UNCERTAIN_LIMITS = {
  /** Without lookups that hang. */
  limit: 10_000,
  limits: {
    /** Includes lookups of known names that hang. */
    account: 55,
    /** The same, without first lookups that do not hang yet: those of names from the account have the rest. */
    suspect: 30,
    resource: 1,
  },
} as const;
/** The resource of lookups that hang: they count only against their account. */
const NO_RESOURCE = '';

type Kind = 'known' | 'first' | 'suspect';

export interface FairLookupOptions {
  readonly lookup: StartLookup;
  readonly now?: () => number;
}

/**
 * Looks names up so that lookups that hang do not delay others: concurrent callers share one lookup of a name, a lookup has a deadline,
 * and names that resolved the last time do not wait. Concurrent lookups of other names are limited by account and resource
 * (docs/adr/0014-fair-shares.md). A lookup that cannot begin in time fails with `EAI_AGAIN`.
 */
export function createFairLookup({ lookup, now = () => performance.now() }: FairLookupOptions): OwnedLookup {
  const request = createPermits();
  const names = new KnownNames(now);
  /** By name and kind of query. */
  const running = new Map<string, SharedLookup>();

  return (hostname, options, owner, callback) => {
    const key = `${hostname} ${options.family ?? 0} ${options.hints ?? 0}`;
    const begin = (permit: LookupPermit): void => {
      const onOver = (): void => void running.delete(key);
      const shared = new SharedLookup({ hostname, permit, names, now, onOver });
      running.set(key, shared);
      shared.join(owner, callback);
      shared.start(lookup, options);
    };
    const join = (): boolean => {
      const shared = running.get(key);
      shared?.join(owner, callback);
      return shared !== undefined;
    };
    if (join()) return;
    const resolved = names.didResolve(owner.account, hostname);
    const kind = resolved === true ? 'known' : resolved === false || owner.redirected ? 'suspect' : 'first';
    const { tryAcquire, acquire } = request(kind, owner);
    const permit = tryAcquire();
    if (permit !== null) return begin(permit);
    const wait = async (): Promise<void> => {
      owner.onWaiting?.(true);
      // A lookup that begins later may have too little time for a response.
      const later = await acquire(Math.max(0, owner.deadline - HANGS_AFTER_MS - now()));
      if (later === null) return callback(lookupError('EAI_AGAIN', hostname), []);
      owner.onWaiting?.(false);
      // Another caller may have begun the lookup in the meantime.
      if (join()) later.release();
      else begin(later);
    };
    void wait();
  };
}

interface LookupPermit {
  /** From now on the lookup counts against the uncertain lookups of its account, but not against those of others. */
  makeHanging(): void;
  release(): void;
}

interface PermitRequest {
  readonly tryAcquire: () => LookupPermit | null;
  readonly acquire: (withinMs: number) => Promise<LookupPermit | null>;
}

function createPermits(): (kind: Kind, owner: LookupOwner) => PermitRequest {
  const known = new FairLimiter({ ...KNOWN_LIMITS, sharedBy: 'account', soleOwnerMayUseAll: true });
  const uncertain = new FairLimiter({ ...UNCERTAIN_LIMITS, sharedBy: 'account' });
  let firsts = 0;
  const permitOf = (account: string, acquired: Release | null): LookupPermit | null => {
    if (acquired === null) return null;
    let release = acquired;
    return {
      makeHanging: () => {
        if (release !== acquired) return;
        release = uncertain.charge({ account, suspect: account, resource: NO_RESOURCE });
        acquired();
      },
      release: () => release(),
    };
  };
  return (kind, { account, resource }) => {
    const limiter: Pick<typeof uncertain, 'tryAcquire' | 'acquire'> = kind === 'known' ? known : uncertain;
    // A first lookup has a suspect owner of its own: the limit of suspect lookups does not apply.
    const suspect = kind === 'first' ? `first ${(firsts += 1)}` : account;
    const owners = { account, suspect, resource };
    return {
      tryAcquire: () => permitOf(account, limiter.tryAcquire(owners)),
      acquire: async (withinMs) => permitOf(account, await limiter.acquire(owners, withinMs)),
    };
  };
}

interface SharedLookupOptions {
  readonly hostname: string;
  readonly permit: LookupPermit;
  readonly names: KnownNames;
  readonly now: () => number;
  /** Called before the callbacks: no caller may join any more. */
  readonly onOver: () => void;
}

interface Caller {
  readonly owner: LookupOwner;
  readonly callback: Callback;
  endsAt: number;
  isExtended: boolean;
}

class SharedLookup {
  readonly #options: SharedLookupOptions;
  readonly #startedAt: number;
  readonly #callers = new Set<Caller>();
  #queriedAt: number;
  #isOver = false;
  #running: RunningLookup | null = null;
  readonly #cancelHanging: () => void;
  #cancelEnd = (): void => undefined;
  #nextEnd = Infinity;

  constructor(options: SharedLookupOptions) {
    this.#options = options;
    this.#startedAt = options.now();
    this.#queriedAt = this.#startedAt;
    this.#cancelHanging = afterReading(() => options.permit.makeHanging(), HANGS_AFTER_MS);
  }

  join(owner: LookupOwner, callback: Callback): void {
    const now = this.#options.now();
    const endsAt = Math.min(owner.deadline + AFTER_DEADLINE_MS, now + LOOKUP_WITHIN_MS);
    this.#callers.add({ owner, callback, endsAt, isExtended: false });
    if (endsAt < this.#nextEnd) this.#awaitEnd(endsAt);
    // For a caller that joins a lookup that hangs, the query is repeated as if it were the first.
    if (now - this.#queriedAt <= HANGS_AFTER_MS) return;
    this.#queriedAt = now;
    this.#running?.repeat();
  }

  start(lookup: StartLookup, options: Options): void {
    const { hostname, now } = this.#options;
    try {
      this.#running = lookup(hostname, options, {
        onResult: (error, addresses) => this.#finish(error, addresses),
        // The name servers failed. Callers whose deadline is before the next query fail now.
        onRetry: (retryInMs) => {
          const retryAt = now() + retryInMs;
          if (!this.#isOver) this.#fail(({ owner }) => owner.deadline <= retryAt);
        },
        onEnd: (allResponded) => this.#end(allResponded),
      });
    } catch (cause) {
      // For example, no free file descriptors.
      this.#end(true);
      this.#finish(Object.assign(lookupError('EAI_AGAIN', hostname), { cause }), []);
    }
  }

  #awaitEnd(endsAt: number): void {
    this.#nextEnd = endsAt;
    this.#cancelEnd();
    this.#cancelEnd = afterReading(() => this.#failDue(), Math.max(0, endsAt - this.#options.now()));
  }

  #failDue(): void {
    const now = this.#options.now();
    for (const caller of this.#callers) {
      if (caller.isExtended || now - caller.endsAt <= LATE_MS) continue;
      caller.isExtended = true;
      caller.endsAt = now + EXTRA_MS;
    }
    this.#fail(({ endsAt }) => endsAt <= now);
    if (this.#isOver) return;
    let earliest = Infinity;
    for (const { endsAt } of this.#callers) earliest = Math.min(earliest, endsAt);
    this.#awaitEnd(Math.max(earliest, now + END_EVERY_MS));
  }

  #fail(isDue: (caller: Caller) => boolean): void {
    const due = Array.from(this.#callers).filter(isDue);
    for (const caller of due) this.#callers.delete(caller);
    if (this.#callers.size === 0) this.#close();
    this.#report(due, lookupError('EAI_AGAIN', this.#options.hostname), []);
    if (this.#isOver) this.#running?.stop();
  }

  #finish(error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    if (this.#isOver) return;
    this.#close();
    this.#report(Array.from(this.#callers), error, addresses);
  }

  #close(): void {
    this.#isOver = true;
    this.#cancelEnd();
    this.#options.onOver();
  }

  #report(callers: readonly Caller[], error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    const { names, hostname, now } = this.#options;
    const hangs = now() - this.#startedAt >= HANGS_AFTER_MS;
    for (const { owner, callback } of callers) {
      const { account, redirected } = owner;
      const isUndecided = error?.code === 'EAI_AGAIN' && !hangs;
      if (error?.code === 'ENOTFOUND') names.forget(account, hostname);
      else if (!isUndecided) names.note(account, hostname, error === null, redirected);
      // The caller may have had too little time, but such names must not escape the limits.
      else if (names.didResolve(account, hostname) === true) names.forget(account, hostname);
      callback(error, addresses);
    }
  }

  /** No query is open any more. */
  #end(allResponded: boolean): void {
    this.#cancelHanging();
    const { permit, now } = this.#options;
    const keptForMs = allResponded ? 0 : this.#startedAt + FORWARDER_KEEPS_MS - now();
    if (keptForMs <= 0) return permit.release();
    permit.makeHanging();
    setTimeout(() => permit.release(), keptForMs).unref();
  }
}
