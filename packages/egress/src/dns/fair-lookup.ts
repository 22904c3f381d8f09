import type { LookupAddress } from 'node:dns';
import { FairLimiter, type Release } from '@tocsin/runtime/fair-limiter';
import { KnownNames } from './known-names.ts';
import { afterReading, lookupError, type LookupEvents, type RunningLookup } from './name-lookup.ts';
import type { LookupAll, StartLookup } from './name-resolver.ts';

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
  /** Called with the error of all queries before they are repeated. */
  readonly onRetry?: (error: unknown) => void;
}

export type OwnedLookup = (
  hostname: string,
  options: Parameters<LookupAll>[1],
  owner: LookupOwner,
  callback: Callback,
) => void;

const HANGS_AFTER_MS = 1_000;
/** How long a caller waits for a lookup. */
const LOOKUP_WITHIN_MS = 10_000;
/** How long a forwarder keeps a query without a response (dnsmasq: 10 s), even after the lookup has ended here. */
const FORWARDER_KEEPS_MS = 10_000;
/** Callers have timers of their own for their deadline. The lookup fails a little later, so that they report a time-out. */
const AFTER_DEADLINE_MS = 100;
/** A timer that is later than this shows that the process was short of CPU. The caller then gets more time, once. */
const LATE_MS = 100;
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
    /** Like `account`, but without first lookups that do not hang yet: the rest is reserved for these. */
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
      const shared = shareLookup({ hostname, permit, names, now, onOver });
      running.set(key, shared);
      shared.join(owner, callback);
      shared.start((events) => lookup(hostname, options, events));
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

interface SharedLookup {
  join(owner: LookupOwner, callback: Callback): void;
  start(lookup: (events: LookupEvents) => RunningLookup): void;
}

interface Caller {
  readonly owner: LookupOwner;
  readonly callback: Callback;
  endsAt: number;
  isExtended: boolean;
}

/** A lookup in progress for several callers. @param onOver called before the callbacks: no caller may join any more */
function shareLookup({
  hostname,
  permit,
  names,
  now,
  onOver,
}: {
  readonly hostname: string;
  readonly permit: LookupPermit;
  readonly names: KnownNames;
  readonly now: () => number;
  readonly onOver: () => void;
}): SharedLookup {
  const startedAt = now();
  const callers = new Set<Caller>();
  const cancelHanging = afterReading(() => permit.makeHanging(), HANGS_AFTER_MS);
  let queriedAt = startedAt;
  let isOver = false;
  let running: RunningLookup | null = null;
  /** Why queries are repeated; undefined: they are not. */
  let cause: unknown;
  let cancelEnd: (() => void) | undefined;
  let nextEnd = Infinity;

  function awaitEnd(endsAt: number): void {
    nextEnd = endsAt;
    cancelEnd?.();
    cancelEnd = afterReading(failDue, Math.max(0, endsAt - now()));
  }

  function failDue(): void {
    const at = now();
    for (const caller of callers) {
      if (caller.isExtended || at - caller.endsAt <= LATE_MS) continue;
      caller.isExtended = true;
      caller.endsAt = at + EXTRA_MS;
    }
    fail(({ endsAt }) => endsAt <= at);
    if (isOver) return;
    let earliest = Infinity;
    for (const { endsAt } of callers) earliest = Math.min(earliest, endsAt);
    awaitEnd(Math.max(earliest, at + END_EVERY_MS));
  }

  function fail(isDue: (caller: Caller) => boolean): void {
    const due = Array.from(callers).filter(isDue);
    for (const caller of due) callers.delete(caller);
    if (callers.size === 0) close();
    report(due, Object.assign(lookupError('EAI_AGAIN', hostname), { cause }), []);
    if (isOver) running?.stop();
  }

  function finish(error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    if (isOver) return;
    close();
    report(Array.from(callers), error, addresses);
  }

  function close(): void {
    isOver = true;
    cancelEnd?.();
    onOver();
  }

  function report(
    callers: readonly Caller[],
    error: NodeJS.ErrnoException | null,
    addresses: LookupAddress[],
  ): void {
    const hangs = now() - startedAt >= HANGS_AFTER_MS;
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
  function end(allResponded: boolean): void {
    cancelHanging();
    const keptForMs = allResponded ? 0 : startedAt + FORWARDER_KEEPS_MS - now();
    if (keptForMs <= 0) return permit.release();
    permit.makeHanging();
    setTimeout(() => permit.release(), keptForMs).unref();
  }

  return {
    join: (owner, callback) => {
      const at = now();
      const endsAt = Math.min(owner.deadline + AFTER_DEADLINE_MS, at + LOOKUP_WITHIN_MS);
      callers.add({ owner, callback, endsAt, isExtended: false });
      if (endsAt < nextEnd) awaitEnd(endsAt);
      if (cause !== undefined) owner.onRetry?.(cause);
      // For a caller that joins a lookup that hangs, the query is repeated as if it were the first.
      if (at - queriedAt <= HANGS_AFTER_MS) return;
      queriedAt = at;
      running?.repeat();
    },
    start: (lookup) => {
      try {
        running = lookup({
          onResult: finish,
          // The name servers failed. Callers whose deadline is before the next query fail now.
          onRetry: (retryInMs, error) => {
            cause = error;
            for (const { owner } of callers) owner.onRetry?.(error);
            const retryAt = now() + retryInMs;
            if (!isOver) fail(({ owner }) => owner.deadline <= retryAt);
          },
          onEnd: end,
        });
      } catch (cause) {
        // For example, no free file descriptors.
        end(true);
        finish(Object.assign(lookupError('EAI_AGAIN', hostname), { cause }), []);
      }
    },
  };
}
