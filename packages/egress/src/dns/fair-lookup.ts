import type { LookupAddress } from 'node:dns';
import { FairLimiter, type Owners, type Release } from '@tocsin/runtime/fair-limiter';
import type { LookupAll } from '../guarded-lookup.ts';
import { KnownNames } from './known-names.ts';
import { failure, type RunningLookup, type StartLookup } from './name-resolver.ts';

type Options = Parameters<LookupAll>[1];
type Callback = Parameters<LookupAll>[2];

/** On whose behalf a name is looked up. */
export interface LookupOwner {
  readonly account: string;
  /** The monitor or channel. */
  readonly resource: string;
  /** Whether the name comes from the target (a redirect) rather than from the account. */
  readonly redirected: boolean;
  /** When the answer is of no more use, by `performance.now()`. */
  readonly deadline: number;
  /**
   * Called with true if the lookup has to wait for others of its account, and with false when it begins. It fails if it cannot begin a
   * second before the deadline. A failure while it waits says nothing about the name.
   */
  readonly onWaiting?: (isWaiting: boolean) => void;
}

/** `dns.lookup` on behalf of an owner. */
export type OwnedLookup = (
  hostname: string,
  options: Options,
  owner: LookupOwner,
  callback: Callback,
) => void;

/** A lookup that takes longer hangs. */
const HANGS_AFTER_MS = 1_000;
/** How long after it began to wait a request for a name fails. */
const LOOKUP_WITHIN_MS = 10_000;
/** How long a forwarder keeps a question that nobody answers (dnsmasq: 10 s), also after the lookup has ended here. */
const FORWARDER_KEEPS_MS = 10_000;
/** Owners end by timers of their own at their deadline. A lookup is given up a little later, so that they report the time-out. */
const AFTER_DEADLINE_MS = 100;
/** A timer that fires later than this shows that the process was short of CPU: the request gets a little more time, once. */
const LATE_MS = 500;
const EXTRA_MS = 1_000;
/** Requests for the same name that end at different times are ended together within this time. */
const END_EVERY_MS = 50;

/** How many lookups of names that were answered the last time may be under way. One that hangs leaves after a second. */
const KNOWN_LIMITS = { limit: 1_000, limits: { account: 600, resource: 4 } } as const;

/**
 * How many lookups of other names may be under way. They cost this process next to nothing. The limits protect the name servers, and with
 * them everybody whose names they resolve: dnsmasq forwards 150 questions at a time and refuses more. A lookup asks two questions (A and
 * AAAA), so one account has at most 110 open questions for such names.
 */
const UNCERTAIN_LIMITS = {
  /** Those that hang do not count here. */
  limit: 10_000,
  limits: {
    /** Includes lookups of known names that hang. */
    account: 55,
    /**
     * The same, but without first lookups that do not hang yet. The rest is for first lookups, by account: names that were not answered
     * the last time, and new names that targets gave, may be without number.
     */
    suspect: 30,
    resource: 1,
  },
} as const;
/** The resource of lookups that hang: they count against their account only. */
const NO_RESOURCE = '';

type Kind = 'known' | 'first' | 'suspect';

export interface FairLookupOptions {
  readonly lookup: StartLookup;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/**
 * Looks names up so that those that hang do not delay others: a name is looked up once for everybody who asks at the same time, a lookup
 * has a deadline, and names that were answered the last time do not wait for others. Each account and each of its resources may look up
 * a limited number of other names at a time. A lookup whose turn does not come fails with `EAI_AGAIN`; its owner is told that it waited.
 */
export function createFairLookup({ lookup, now = () => performance.now() }: FairLookupOptions): OwnedLookup {
  const permits = new LookupPermits();
  const names = new KnownNames(now);
  /** By name and kind of question. */
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
    const kind = kindOf(names.wasAnswered(owner.account, hostname), owner);
    const permit = permits.tryAcquire(kind, owner);
    if (permit !== null) {
      begin(permit);
      return;
    }
    const wait = async (): Promise<void> => {
      owner.onWaiting?.(true);
      // A lookup that begins later may have too little time for an answer.
      const permit = await permits.acquire(kind, owner, owner.deadline - HANGS_AFTER_MS - now());
      if (permit === null) return callback(failure('EAI_AGAIN', hostname), []);
      owner.onWaiting?.(false);
      // Somebody else may have begun it meanwhile.
      if (join()) permit.release();
      else begin(permit);
    };
    void wait();
  };
}

/** @param wasAnswered null: the account has not looked the name up yet */
function kindOf(wasAnswered: boolean | null, { redirected }: LookupOwner): Kind {
  if (wasAnswered === null) return redirected ? 'suspect' : 'first';
  return wasAnswered ? 'known' : 'suspect';
}

/** The permits of all lookups. */
class LookupPermits {
  readonly #known = new FairLimiter({ ...KNOWN_LIMITS, sharedBy: 'account', soleOwnerMayUseAll: true });
  readonly #uncertain = new FairLimiter({ ...UNCERTAIN_LIMITS, sharedBy: 'account' });
  #firsts = 0;

  tryAcquire(kind: Kind, owner: LookupOwner): LookupPermit | null {
    const release =
      kind === 'known'
        ? this.#known.tryAcquire(owner)
        : this.#uncertain.tryAcquire(this.#uncertainOwners(kind, owner));
    return release === null ? null : this.#permit(owner, release);
  }

  /** @returns null when no permit was free within `withinMs` */
  async acquire(kind: Kind, owner: LookupOwner, withinMs: number): Promise<LookupPermit | null> {
    const waitMs = Math.max(0, withinMs);
    const release = await (kind === 'known'
      ? this.#known.acquire(owner, waitMs)
      : this.#uncertain.acquire(this.#uncertainOwners(kind, owner), waitMs));
    return release === null ? null : this.#permit(owner, release);
  }

  #uncertainOwners(
    kind: Kind,
    { account, resource }: LookupOwner,
  ): Owners<'account' | 'suspect' | 'resource'> {
    if (kind === 'suspect') return { account, suspect: account, resource };
    // A name of its own: the limit of suspect lookups does not apply.
    this.#firsts += 1;
    return { account, suspect: `first ${this.#firsts}`, resource };
  }

  #permit({ account }: LookupOwner, release: Release): LookupPermit {
    const owners = { account, suspect: account, resource: NO_RESOURCE };
    return new LookupPermit(release, () => this.#uncertain.charge(owners));
  }
}

class LookupPermit {
  #release: Release;
  #charge: (() => Release) | null;

  constructor(release: Release, charge: () => Release) {
    this.#release = release;
    this.#charge = charge;
  }

  /** From now on the lookup counts against the uncertain lookups of its account, but against nobody else's. */
  makeHanging(): void {
    if (this.#charge === null) return;
    const before = this.#release;
    this.#release = this.#charge();
    this.#charge = null;
    before();
  }

  release(): void {
    this.#release();
  }
}

interface SharedLookupOptions {
  readonly hostname: string;
  readonly permit: LookupPermit;
  readonly names: KnownNames;
  readonly now: () => number;
  /** Called before the callbacks: nobody may join any more. */
  readonly onOver: () => void;
}

/** Somebody who waits for a lookup. */
interface Waiter {
  readonly owner: LookupOwner;
  readonly callback: Callback;
  endsAt: number;
  isExtended: boolean;
}

/** A lookup under way, and those who wait for it. */
class SharedLookup {
  readonly #options: SharedLookupOptions;
  readonly #startedAt: number;
  readonly #waiters = new Set<Waiter>();
  #askedAt: number;
  #isOver = false;
  #hasEnded = false;
  #running: RunningLookup | null = null;
  readonly #hangTimer: NodeJS.Timeout;
  #endTimer: NodeJS.Timeout | undefined;
  /** When `#endTimer` fires. */
  #nextEnd = Infinity;

  constructor(options: SharedLookupOptions) {
    this.#options = options;
    this.#startedAt = options.now();
    this.#askedAt = this.#startedAt;
    this.#hangTimer = setTimeout(() => afterReading(() => this.#hang()), HANGS_AFTER_MS);
  }

  join(owner: LookupOwner, callback: Callback): void {
    const now = this.#options.now();
    const endsAt = Math.min(owner.deadline + AFTER_DEADLINE_MS, now + LOOKUP_WITHIN_MS);
    this.#waiters.add({ owner, callback, endsAt, isExtended: false });
    if (endsAt < this.#nextEnd) this.#awaitEnd(endsAt);
    // Whoever joins a lookup that hangs has a question asked as if it were the first.
    if (now - this.#askedAt <= HANGS_AFTER_MS) return;
    this.#askedAt = now;
    this.#running?.askAgain();
  }

  start(lookup: StartLookup, options: Options): void {
    try {
      this.#running = lookup(this.#options.hostname, options, {
        onResult: (error, addresses) => this.#finish(error, addresses),
        onRetry: (retryInMs) => this.#failThoseBefore(this.#options.now() + retryInMs),
        onEnd: (isAnswered) => this.#end(isAnswered),
      });
    } catch (cause) {
      // Such as a process without free file descriptors.
      this.#end(true);
      this.#finish(Object.assign(failure('EAI_AGAIN', this.#options.hostname), { cause }), []);
    }
  }

  #awaitEnd(endsAt: number): void {
    this.#nextEnd = endsAt;
    clearTimeout(this.#endTimer);
    this.#endTimer = setTimeout(
      () => afterReading(() => this.#endDue()),
      Math.max(0, endsAt - this.#options.now()),
    );
  }

  /** Fails those whose time is over. */
  #endDue(): void {
    if (this.#isOver) return;
    const now = this.#options.now();
    for (const waiter of this.#waiters) {
      if (waiter.isExtended || now - waiter.endsAt <= LATE_MS) continue;
      waiter.isExtended = true;
      waiter.endsAt = now + EXTRA_MS;
    }
    this.#fail((waiter) => waiter.endsAt <= now);
    if (this.#isOver) return;
    const endings = Array.from(this.#waiters, ({ endsAt }) => endsAt);
    const earliest = endings.reduce((one, other) => Math.min(one, other), Infinity);
    this.#awaitEnd(Math.max(earliest, now + END_EVERY_MS));
  }

  /** The name servers failed. Those whose deadline comes before the next question learn of it now. */
  #failThoseBefore(retryAt: number): void {
    if (!this.#isOver) this.#fail(({ owner }) => owner.deadline <= retryAt);
  }

  #fail(isDue: (waiter: Waiter) => boolean): void {
    const due = Array.from(this.#waiters).filter(isDue);
    for (const waiter of due) this.#waiters.delete(waiter);
    if (this.#waiters.size === 0) this.#close();
    this.#tell(due, failure('EAI_AGAIN', this.#options.hostname), []);
    if (this.#isOver) this.#running?.stop();
  }

  /** From then on it counts against the uncertain lookups of its account. */
  #hang(): void {
    if (!this.#hasEnded) this.#options.permit.makeHanging();
  }

  #finish(error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    if (this.#isOver) return;
    this.#close();
    this.#tell(Array.from(this.#waiters), error, addresses);
  }

  #close(): void {
    this.#isOver = true;
    clearTimeout(this.#endTimer);
    this.#options.onOver();
  }

  #tell(waiters: readonly Waiter[], error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    const { names, hostname, now } = this.#options;
    const hangs = now() - this.#startedAt >= HANGS_AFTER_MS;
    for (const { owner, callback } of waiters) {
      const { account, redirected } = owner;
      const isUndecided = error?.code === 'EAI_AGAIN' && !hangs;
      if (error?.code === 'ENOTFOUND') names.forget(account, hostname);
      else if (!isUndecided) names.note(account, hostname, error === null, redirected);
      // It may have been too short of time, but such names must not escape the limits.
      else if (names.wasAnswered(account, hostname) === true) names.forget(account, hostname);
      callback(error, addresses);
    }
  }

  /** No name server is asked any more. */
  #end(isAnswered: boolean): void {
    this.#hasEnded = true;
    clearTimeout(this.#hangTimer);
    const { permit, now } = this.#options;
    const keptForMs = isAnswered ? 0 : this.#startedAt + FORWARDER_KEEPS_MS - now();
    if (keptForMs <= 0) return permit.release();
    permit.makeHanging();
    setTimeout(() => permit.release(), keptForMs).unref();
  }
}

/** Calls it once the answers that have arrived by now are read: a timer may be late because the process was short of CPU. */
function afterReading(work: () => void): void {
  setImmediate(work);
}
