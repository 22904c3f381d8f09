import type { LookupAddress } from 'node:dns';
import { FairLimiter, type Release } from '@tocsin/runtime/fair-limiter';
import type { LookupAll } from './guarded-lookup.ts';
import { failure, type StartLookup } from './name-resolver.ts';

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
}

/** `dns.lookup` on behalf of an owner. */
export type OwnedLookup = (
  hostname: string,
  options: Options,
  owner: LookupOwner,
  callback: Callback,
) => void;

/** A lookup that takes longer hangs: it counts as suspect from then on, and makes its name slow. */
const SLOW_MS = 1_000;
/** A lookup that takes longer fails. */
const LOOKUP_WITHIN_MS = 10_000;
/** Owners end by timers of their own at their deadline. A lookup is given up a little later, so that they report the time-out. */
const AFTER_DEADLINE_MS = 100;
/** A timer that fires later than this shows that the process was short of CPU: the lookup gets a little more time, once. */
const LATE_MS = 500;
/** Names whose speed is remembered, of those that accounts gave and of those that targets gave; the one seen longest ago is forgotten. */
const MAX_NAMES = 50_000;

/**
 * How many lookups may be under way at a time. They cost this process next to nothing; the limits protect the name servers, and with
 * them everybody whose names they resolve: dnsmasq, for one, forwards 150 questions at a time.
 */
const LIMITS = {
  /** Names that were fast the last time. */
  fast: { limit: 1_000, limits: { account: 600, resource: 4 } },
  /** First lookups of names that accounts gave. One that hangs leaves after a second. */
  first: { limit: 64, limits: { account: 24, resource: 2 } },
  /** Names that were slow the last time, first lookups of names that targets gave, and lookups that hang. */
  suspect: { limit: 1_000, limits: { account: 200, resource: 1 } },
  /** Names that did not resolve the last time. They have limits of their own, so that no other name waits for them. */
  failed: { limit: 1_000, limits: { account: 200, resource: 1 } },
} as const;

type Kind = keyof typeof LIMITS;
type Limiter = FairLimiter<'account' | 'resource'>;
type Speed = 'fast' | 'slow' | 'failed';

export interface FairLookupOptions {
  readonly lookup: StartLookup;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/**
 * Looks names up so that those that hang delay no other: a name is looked up once for everybody who asks meanwhile, a lookup has a
 * deadline, and names that are known to be fast do not wait for others. Of the rest each account and each of its resources has a few
 * at a time. A lookup whose turn does not come fails like one that no name server answered.
 */
export function createFairLookup({ lookup, now = () => performance.now() }: FairLookupOptions): OwnedLookup {
  const limiters: Readonly<Record<Kind, Limiter>> = {
    fast: new FairLimiter({ ...LIMITS.fast, sharedBy: 'account' }),
    first: new FairLimiter({ ...LIMITS.first, sharedBy: 'account' }),
    suspect: new FairLimiter({ ...LIMITS.suspect, sharedBy: 'account' }),
    failed: new FairLimiter({ ...LIMITS.failed, sharedBy: 'account' }),
  };
  const speeds = new NameSpeeds();
  /** By name and kind of question. */
  const running = new Map<string, SharedLookup>();

  return (hostname, options, owner, callback) => {
    const key = `${hostname} ${options.family ?? 0} ${options.hints ?? 0}`;
    const begin = (kind: Kind, release: Release): void => {
      const onOver = (): void => void running.delete(key);
      const { suspect } = limiters;
      const shared = new SharedLookup({ hostname, owner, kind, release, suspect, speeds, now, onOver });
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
    const kind = kindOf(speeds.get(hostname), owner);
    const release = limiters[kind].tryAcquire(owner);
    if (release !== null) {
      begin(kind, release);
      return;
    }
    const wait = async (): Promise<void> => {
      const withinMs = Math.max(0, owner.deadline + AFTER_DEADLINE_MS - now());
      const permit = await limiters[kind].acquire(owner, withinMs);
      if (permit === null) callback(failure('EAI_AGAIN', hostname), []);
      // Somebody else may have begun it meanwhile.
      else if (join()) permit();
      else begin(kind, permit);
    };
    void wait();
  };
}

function kindOf(speed: Speed | undefined, owner: LookupOwner): Kind {
  if (speed === 'fast' || speed === 'failed') return speed;
  return speed === 'slow' || owner.redirected ? 'suspect' : 'first';
}

interface SharedLookupOptions {
  readonly hostname: string;
  /** Who began it. */
  readonly owner: LookupOwner;
  readonly kind: Kind;
  /** Releases its permit. */
  readonly release: Release;
  readonly suspect: Limiter;
  readonly speeds: NameSpeeds;
  readonly now: () => number;
  /** Called before the callbacks: nobody may join any more. */
  readonly onOver: () => void;
}

/** A lookup under way, and those who wait for it. */
class SharedLookup {
  readonly #options: SharedLookupOptions;
  readonly #startedAt: number;
  readonly #callbacks: Callback[] = [];
  #release: Release;
  /** The latest deadline of those who wait, but not beyond what a lookup may take. */
  #endsAt = 0;
  #isExtended = false;
  /** Whether only targets gave the name. */
  #redirected = true;
  #hangs = false;
  #isOver = false;
  #hasEnded = false;
  #stop: (() => void) | null = null;
  readonly #slowTimer: NodeJS.Timeout;
  #endTimer: NodeJS.Timeout | undefined;

  constructor(options: SharedLookupOptions) {
    this.#options = options;
    this.#release = options.release;
    this.#startedAt = options.now();
    this.#slowTimer = setTimeout(() => afterReading(() => this.#hang()), SLOW_MS);
  }

  join(owner: LookupOwner, callback: Callback): void {
    this.#callbacks.push(callback);
    this.#redirected &&= owner.redirected;
    const endsAt = Math.min(owner.deadline + AFTER_DEADLINE_MS, this.#startedAt + LOOKUP_WITHIN_MS);
    this.#endsAt = Math.max(this.#endsAt, endsAt);
  }

  start(lookup: StartLookup, options: Options): void {
    this.#awaitEnd();
    this.#stop = lookup(
      this.#options.hostname,
      options,
      (error, addresses) => this.#answer(error, addresses),
      () => this.#end(),
    );
  }

  #awaitEnd(): void {
    const { now } = this.#options;
    this.#endTimer = setTimeout(
      () => {
        const lateMs = now() - this.#endsAt;
        // Somebody with a later deadline has joined.
        if (lateMs < 0) return this.#awaitEnd();
        if (lateMs <= LATE_MS || this.#isExtended) return afterReading(() => this.#giveUp());
        this.#isExtended = true;
        this.#endsAt = now() + SLOW_MS;
        this.#awaitEnd();
      },
      Math.max(0, this.#endsAt - now()),
    );
  }

  /** Leaves its permit to lookups that do not hang. From then on it counts against the suspect lookups of its owner, but of no other. */
  #hang(): void {
    if (this.#hasEnded) return;
    this.#hangs = true;
    const { kind, suspect, owner } = this.#options;
    if (!this.#isOver) this.#note(kind === 'failed' ? 'failed' : 'slow');
    if (kind !== 'fast' && kind !== 'first') return;
    const release = this.#release;
    this.#release = suspect.charge(owner);
    release();
  }

  #answer(error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    if (this.#isOver) return;
    if (this.#hangs && error?.code === 'EAI_AGAIN') this.#noteFailure();
    else this.#note(this.#hangs ? 'slow' : 'fast');
    this.#finish(error, addresses);
  }

  #giveUp(): void {
    if (this.#isOver) return;
    // Before it is slow it says nothing about the name.
    if (this.#hangs) this.#noteFailure();
    this.#finish(failure('EAI_AGAIN', this.#options.hostname), []);
    this.#stop?.();
  }

  #finish(error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    this.#isOver = true;
    clearTimeout(this.#endTimer);
    this.#options.onOver();
    for (const callback of this.#callbacks) callback(error, addresses);
  }

  /** No name server is asked any more. */
  #end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#slowTimer);
    this.#release();
  }

  /** A name that was fast until now has failed once only. */
  #noteFailure(): void {
    this.#note(this.#options.kind === 'fast' ? 'slow' : 'failed');
  }

  #note(speed: Speed): void {
    const { speeds, hostname } = this.#options;
    speeds.note(hostname, speed, this.#redirected);
  }
}

/** Calls it once the answers that have arrived by now are read: a timer may be late because the process was short of CPU. */
function afterReading(work: () => void): void {
  setImmediate(work);
}

/** How long the last lookup of each name took. */
class NameSpeeds {
  readonly #given = new Map<string, Speed>();
  /** Of names that only targets gave. They can be without number. */
  readonly #redirected = new Map<string, Speed>();

  get(hostname: string): Speed | undefined {
    return this.#given.get(hostname) ?? this.#redirected.get(hostname);
  }

  note(hostname: string, speed: Speed, redirected: boolean): void {
    const speeds = redirected && !this.#given.has(hostname) ? this.#redirected : this.#given;
    speeds.delete(hostname);
    speeds.set(hostname, speed);
    const [oldest] = speeds.keys();
    if (speeds.size > MAX_NAMES && oldest !== undefined) speeds.delete(oldest);
  }
}
