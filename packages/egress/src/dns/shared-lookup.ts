import dns, { type LookupAddress } from 'node:dns';
import type { Release } from '@tocsin/runtime/fair-shares';
import { afterReading, lookupError, type LookupEvents, type RunningLookup } from './name-lookup.ts';
import type { LookupAll } from './name-resolver.ts';

export type LookupCallback = Parameters<LookupAll>[2];

export interface LookupOwner {
  readonly account: string;
  readonly resource: string;
  /** True if the target chose the name by a redirect. */
  readonly isRedirected: boolean;
  /** When the caller stops waiting, by `performance.now()`. */
  readonly deadline: number;
  /**
   * Called when the lookup begins to wait, first for other lookups and then for name servers. The function returns true while a timeout says
   * nothing about the name, because other lookups cause it.
   */
  readonly onWaiting?: (isOwnFault: () => boolean) => void;
  /** Called when the lookup no longer waits for other lookups. */
  readonly onBegin?: (waitedMs: number) => void;
  /** Called with the last error before queries are repeated. */
  readonly onRetry?: (error: unknown) => void;
}

export const HANGS_AFTER_MS = 1_000;
const LOOKUP_WITHIN_MS = 10_000;
/** A lookup of a new name keeps its permit this long, because a name server may limit the rate of queries. */
const PACE_MS = 200;
/** A forwarder such as dnsmasq keeps an unanswered query this long, even after the lookup has ended here. */
const FORWARDER_KEEPS_MS = 10_000;
/** Callers time out at their deadline. The lookup fails a little later, so that they report a timeout. */
const AFTER_DEADLINE_MS = 100;
/** A timer this late shows that the process lacked CPU time. The caller then gets more time, once. */
const LATE_MS = 100;
const EXTENSION_MS = 1_000;
/** Callers of one lookup fail together if their deadlines are this close. */
const END_EVERY_MS = 50;

interface Caller {
  readonly owner: LookupOwner;
  readonly callback: LookupCallback;
  endsAt: number;
  isExtended: boolean;
}

interface SharedLookupOptions {
  readonly hostname: string;
  /** True if the name resolved the last time. */
  readonly isKnown: boolean;
  readonly release: Release;
  readonly now: () => number;
  readonly isOverloaded: () => boolean;
  /** Null if the name is not known. */
  readonly lastAddresses: () => readonly LookupAddress[] | null;
  /** Called for each caller, unless the lookup says nothing about the name. */
  readonly onResult: (
    error: NodeJS.ErrnoException | null,
    addresses: readonly LookupAddress[],
    isRedirected: boolean,
  ) => void;
  readonly onResponse: (response: 'good' | 'bad' | null) => void;
  /** Called before the callbacks, after which no caller may join. */
  readonly onOver: () => void;
}

export interface SharedLookup {
  join(owner: LookupOwner, callback: LookupCallback): void;
  start(lookup: (events: LookupEvents) => RunningLookup): void;
}

/** Runs one lookup for several callers. */
export function shareLookup({
  hostname,
  isKnown,
  release,
  now,
  ...shared
}: SharedLookupOptions): SharedLookup {
  const startedAt = now();
  const callers = new Set<Caller>();
  let cancelHanging = afterReading(noteHanging, HANGS_AFTER_MS);
  let queriedAt = startedAt;
  let hangs = false;
  let isOver = false;
  let running: RunningLookup | null = null;
  /** Last error of the name servers, or undefined. */
  let cause: unknown;
  let cancelEnd: (() => void) | undefined;
  let nextEnd = Infinity;

  function noteHanging(): void {
    hangs = true;
    if (isKnown) release();
    if (isOver || reuseAddresses()) return;
    cancelHanging = afterReading(noteHanging, HANGS_AFTER_MS);
  }

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
    const isOwnFault = shared.isOverloaded();
    const due = Array.from(callers).filter(isDue);
    for (const caller of due) callers.delete(caller);
    if (callers.size === 0) close();
    const error = Object.assign(lookupError('EAI_AGAIN', hostname), { cause });
    for (const { owner, callback } of due) {
      owner.onWaiting?.(() => isOwnFault);
      if (!isOwnFault) shared.onResult(error, [], owner.isRedirected);
      callback(error, []);
    }
    if (isOver) running?.stop();
  }

  function finish(error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    if (isOver) return;
    close();
    for (const { owner, callback } of callers) {
      shared.onResult(error, addresses, owner.isRedirected);
      callback(error, addresses);
    }
  }

  /** An overloaded server says nothing about a name, so the name keeps its addresses. @returns false if it has none */
  function reuseAddresses(): boolean {
    const addresses = shared.isOverloaded() ? shared.lastAddresses() : null;
    if (addresses === null) return false;
    close();
    for (const { callback } of callers) callback(null, [...addresses]);
    running?.stop();
    return true;
  }

  function close(): void {
    isOver = true;
    cancelEnd?.();
    shared.onOver();
  }

  function end(allResponded: boolean): void {
    cancelHanging();
    if (!allResponded) shared.onResponse(null);
    const keepMs = isKnown ? 0 : allResponded ? PACE_MS : FORWARDER_KEEPS_MS;
    const keptForMs = startedAt + keepMs - now();
    if (keptForMs > 0) setTimeout(release, keptForMs).unref();
    else release();
  }

  function retry(retryInMs: number, error: unknown): void {
    cause = error;
    const isRefused = (error as NodeJS.ErrnoException | undefined)?.code === dns.REFUSED;
    if (isRefused) shared.onResponse('bad');
    if (isOver || (isRefused && reuseAddresses())) return;
    for (const { owner } of callers) owner.onRetry?.(error);
    // Callers whose deadline precedes the next query fail now.
    const retryAt = now() + retryInMs;
    fail(({ owner }) => owner.deadline <= retryAt);
  }

  return {
    join: (owner, callback) => {
      const at = now();
      const endsAt = Math.min(owner.deadline + AFTER_DEADLINE_MS, at + LOOKUP_WITHIN_MS);
      callers.add({ owner, callback, endsAt, isExtended: false });
      owner.onWaiting?.(() => !isOver && shared.isOverloaded());
      if (endsAt < nextEnd) awaitEnd(endsAt);
      if (cause !== undefined) owner.onRetry?.(cause);
      // Repeats the query of a hanging lookup as if it were the first.
      if (at - queriedAt <= HANGS_AFTER_MS) return;
      queriedAt = at;
      running?.repeat();
    },
    start: (lookup) => {
      try {
        running = lookup({
          onResult: (error, addresses) => {
            shared.onResponse(hangs ? 'bad' : 'good');
            finish(error, addresses);
          },
          onRetry: retry,
          onEnd: end,
        });
      } catch (cause) {
        // The lookup could not begin, for example because no file descriptor is free.
        cancelHanging();
        release();
        finish(Object.assign(lookupError('EAI_AGAIN', hostname), { cause }), []);
      }
    },
  };
}
