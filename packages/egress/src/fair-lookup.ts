import type { LookupAddress } from 'node:dns';
import { FairLimiter, type Release } from '@tocsin/runtime/fair-limiter';
import type { LookupAll } from './guarded-lookup.ts';
import { failure } from './name-resolver.ts';

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

/** A lookup that takes longer makes its name slow, until one of it is fast again. */
const SLOW_MS = 1_000;
/** A lookup that takes longer counts as failed. */
const LOOKUP_WITHIN_MS = 10_000;
/** Names whose speed is remembered; beyond that the one seen longest ago is forgotten. */
const MAX_NAMES = 50_000;

/**
 * How many lookups may be under way at a time. They cost this process next to nothing; the limits protect the name servers, and with
 * them everybody whose names they resolve: dnsmasq, for one, forwards 150 questions at a time.
 */
const LIMITS = {
  /** Names that were fast the last time. */
  fast: { limit: 1_000, limits: { account: 600, resource: 4 } },
  /** First lookups of names that accounts gave. */
  first: { limit: 64, limits: { account: 24, resource: 2 } },
  /** Names that were slow the last time, and first lookups of names that targets gave: both are likely to hang. */
  suspect: { limit: 48, limits: { account: 16, resource: 1 } },
} as const;

type Kind = keyof typeof LIMITS;
type Limiter = FairLimiter<'account' | 'resource'>;

export interface FairLookupOptions {
  readonly lookup: LookupAll;
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
  };
  const speeds = new NameSpeeds();
  /** By name and kind of question: who waits for the lookup that is under way. */
  const running = new Map<string, Callback[]>();

  const begin = (
    key: string,
    hostname: string,
    options: Options,
    callback: Callback,
    release: Release,
  ): void => {
    const callbacks = [callback];
    running.set(key, callbacks);
    const startedAt = now();
    let ended = false;
    const end = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      running.delete(key);
      speeds.note(hostname, now() - startedAt <= SLOW_MS ? 'fast' : 'slow');
      release();
      for (const done of callbacks) done(error, addresses);
    };
    const timer = setTimeout(() => end(failure('EAI_AGAIN', hostname), []), LOOKUP_WITHIN_MS);
    lookup(hostname, options, end);
  };

  return (hostname, options, owner, callback) => {
    const key = `${hostname} ${options.family ?? 0} ${options.hints ?? 0}`;
    const join = (): boolean => running.get(key)?.push(callback) !== undefined;
    if (join()) return;
    const limiter = limiters[kindOf(speeds.get(hostname), owner)];
    const release = limiter.tryAcquire(owner);
    if (release !== null) {
      begin(key, hostname, options, callback, release);
      return;
    }
    void limiter.acquire(owner, Math.max(0, owner.deadline - now())).then((release) => {
      if (release === null) callback(failure('EAI_AGAIN', hostname), []);
      // Somebody else may have begun it meanwhile.
      else if (join()) release();
      else begin(key, hostname, options, callback, release);
    });
  };
}

function kindOf(speed: 'fast' | 'slow' | undefined, owner: LookupOwner): Kind {
  if (speed === 'fast') return 'fast';
  return speed === 'slow' || owner.redirected ? 'suspect' : 'first';
}

/** How long the last lookup of each name took. */
class NameSpeeds {
  readonly #speeds = new Map<string, 'fast' | 'slow'>();

  get(hostname: string): 'fast' | 'slow' | undefined {
    return this.#speeds.get(hostname);
  }

  note(hostname: string, speed: 'fast' | 'slow'): void {
    this.#speeds.delete(hostname);
    this.#speeds.set(hostname, speed);
    const [oldest] = this.#speeds.keys();
    if (this.#speeds.size > MAX_NAMES && oldest !== undefined) this.#speeds.delete(oldest);
  }
}
