import type { LookupAddress } from 'node:dns';
import { FairLimiter, type Release } from '@tocsin/runtime/fair-limiter';
import { KnownNames } from './known-names.ts';
import { afterReading, lookupError, type LookupEvents, type RunningLookup } from './name-lookup.ts';
import type { LookupAll, StartLookup } from './name-resolver.ts';

type Callback = Parameters<LookupAll>[2];

export interface LookupOwner {
  readonly account: string;
  readonly resource: string;
  /** True if the target chose the name by a redirect. */
  readonly redirected: boolean;
  /** When the caller stops waiting, by `performance.now()`. */
  readonly deadline: number;
  /**
   * Called with true if the lookup waits for other lookups of its account, and with false when it begins. Waiting says nothing about the
   * name.
   */
  readonly onWaiting?: (isWaiting: boolean) => void;
  /** Called with the last error before queries are repeated. */
  readonly onRetry?: (error: unknown) => void;
}

export type OwnedLookup = (
  hostname: string,
  options: Parameters<LookupAll>[1],
  owner: LookupOwner,
  callback: Callback,
) => void;

const HANGS_AFTER_MS = 1_000;
const LOOKUP_WITHIN_MS = 10_000;
/** A forwarder such as dnsmasq keeps an unanswered query this long, even after the lookup has ended here. */
const FORWARDER_KEEPS_MS = 10_000;
/** Callers time out at their deadline. The lookup fails a little later, so that they report a timeout. */
const AFTER_DEADLINE_MS = 100;
/** A timer this late shows that the process lacked CPU time. The caller then gets more time, once. */
const LATE_MS = 100;
const EXTENSION_MS = 1_000;
/** Callers of one lookup fail together if their deadlines are this close. */
const END_EVERY_MS = 50;

/** Concurrent lookups of names that resolved last time. A hanging lookup stops counting after a second. */
const KNOWN_LIMITS = { limit: 1_000, limits: { account: 600, resource: 4 } } as const;

/** Concurrent lookups of other names, two queries each. They protect name servers, because dnsmasq forwards 150 queries and refuses more. */
const UNCERTAIN_LIMITS = {
  /** Hanging lookups do not count. */
  limit: 10_000,
  limits: {
    /** Hanging lookups of known names count too. */
    account: 55,
    /** The rest is reserved for first lookups that do not hang yet. */
    suspect: 30,
    resource: 1,
  },
} as const;
/** Hanging lookups count only against their account. */
const NO_RESOURCE = '';

type Kind = 'known' | 'first' | 'suspect';

/**
 * Looks up names so that hanging lookups do not delay others (docs/adr/0014-fair-shares.md). Concurrent callers share one lookup of a name,
 * and names that resolved last time do not wait. A lookup that cannot begin in time fails with `EAI_AGAIN`.
 */
export function createFairLookup(
  lookup: StartLookup,
  now: () => number = () => performance.now(),
): OwnedLookup {
  const request = createPermits();
  const names = new KnownNames(now);
  /** Running lookups by name and options. */
  const running = new Map<string, ReturnType<typeof shareLookup>>();

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
      // A later start may leave too little time for a response.
      const later = await acquire(Math.max(0, owner.deadline - HANGS_AFTER_MS - now()));
      if (later === null) return callback(lookupError('EAI_AGAIN', hostname), []);
      owner.onWaiting?.(false);
      // Another caller may have started the lookup in the meantime.
      if (join()) later.release();
      else begin(later);
    };
    void wait();
  };
}

interface LookupPermit {
  /** Counts the lookup against the account's uncertain lookups, but no longer against those of other accounts. */
  makeHanging(): void;
  release(): void;
}

function createPermits() {
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
  return (kind: Kind, { account, resource }: LookupOwner) => {
    const limiter: Pick<typeof uncertain, 'tryAcquire' | 'acquire'> = kind === 'known' ? known : uncertain;
    // Exempts first lookups from the limit of suspect ones.
    const suspect = kind === 'first' ? `first ${(firsts += 1)}` : account;
    const owners = { account, suspect, resource };
    return {
      tryAcquire: () => permitOf(account, limiter.tryAcquire(owners)),
      acquire: async (withinMs: number) => permitOf(account, await limiter.acquire(owners, withinMs)),
    };
  };
}

interface Caller {
  readonly owner: LookupOwner;
  readonly callback: Callback;
  endsAt: number;
  isExtended: boolean;
}

/** Runs one lookup for several callers. @param onOver called before the callbacks, after which no caller may join */
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
}) {
  const startedAt = now();
  const callers = new Set<Caller>();
  const cancelHanging = afterReading(() => permit.makeHanging(), HANGS_AFTER_MS);
  let queriedAt = startedAt;
  let isOver = false;
  let running: RunningLookup | null = null;
  /** Last error of the name servers, or undefined. */
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
      caller.endsAt = at + EXTENSION_MS;
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
      // The caller may have had too little time, but the name must not bypass the limits.
      else if (names.didResolve(account, hostname) === true) names.forget(account, hostname);
      callback(error, addresses);
    }
  }

  function end(allResponded: boolean): void {
    cancelHanging();
    const keptForMs = allResponded ? 0 : startedAt + FORWARDER_KEEPS_MS - now();
    if (keptForMs <= 0) return permit.release();
    permit.makeHanging();
    setTimeout(() => permit.release(), keptForMs).unref();
  }

  return {
    join: (owner: LookupOwner, callback: Callback): void => {
      const at = now();
      const endsAt = Math.min(owner.deadline + AFTER_DEADLINE_MS, at + LOOKUP_WITHIN_MS);
      callers.add({ owner, callback, endsAt, isExtended: false });
      if (endsAt < nextEnd) awaitEnd(endsAt);
      if (cause !== undefined) owner.onRetry?.(cause);
      // Repeats the query of a hanging lookup as if it were the first.
      if (at - queriedAt <= HANGS_AFTER_MS) return;
      queriedAt = at;
      running?.repeat();
    },
    start: (lookup: (events: LookupEvents) => RunningLookup): void => {
      try {
        running = lookup({
          onResult: finish,
          // The name servers failed. Callers whose deadline precedes the next query fail now.
          onRetry: (retryInMs, error) => {
            cause = error;
            for (const { owner } of callers) owner.onRetry?.(error);
            const retryAt = now() + retryInMs;
            if (!isOver) fail(({ owner }) => owner.deadline <= retryAt);
          },
          onEnd: end,
        });
      } catch (cause) {
        // The lookup could not begin, for example because no file descriptor is free.
        end(true);
        finish(Object.assign(lookupError('EAI_AGAIN', hostname), { cause }), []);
      }
    },
  };
}
