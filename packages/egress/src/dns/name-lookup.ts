import dns, { type LookupAddress } from 'node:dns';
import type { Ipv4OnlyNames } from './ipv4-only-names.ts';
import type { NameServers } from './name-server.ts';
import type { Family } from './system-config.ts';

/**
 * While a load balancer sends half of the sockets to a dead server, this many queries fail fewer than one lookup in 1,000. They take less
 * than five seconds. Later ones follow after three seconds each.
 */
const QUICK_QUERIES = 13;
const REPEAT_AFTER_MS = { lossy: 150, quick: 350, slow: 3_000 } as const;
/** Pauses before a lookup starts over because every server refused, failed or was unreachable. The last pause repeats. */
const RETRY_AFTER_MS = [250, 500, 1_000, 2_000] as const;
/** Retries of a failed IPv4 query for a name with IPv6 addresses. */
const MAX_IPV4_RETRIES = 2;
/** After this time, the other search domains are skipped. */
const SEARCH_DOMAINS_WITHIN_MS = 3_000;
/** RFC 8305, section 3: a server that ignores IPv6 queries must not delay the check. */
const IPV6_WITHIN_MS = 250;

export type OnResult = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

export interface LookupEvents {
  /** Called at most once, and not after `stop`. */
  readonly onResult: OnResult;
  /** Called when every server refused, failed or was unreachable. `error` is the last failure. The lookup starts over after `retryInMs`. */
  readonly onRetry: (retryInMs: number, error: unknown) => void;
  /** Called once, after the last query. If false, name servers may still be busy with some queries. */
  readonly onEnd: (allResponded: boolean) => void;
}

export interface RunningLookup {
  repeat(): void;
  /** Stops waiting for responses. `onEnd` is still called. */
  stop(): void;
}

/** Calls `work` after the delay and after received responses are read. Does not keep the process alive. @returns a function that cancels the call */
export function afterReading(work: () => void, delayMs: number): () => void {
  let isCanceled = false;
  const timer = setTimeout(() => setImmediate(() => !isCanceled && work()), delayMs).unref();
  return () => {
    isCanceled = true;
    clearTimeout(timer);
  };
}

/** Finds the first of several names with addresses. Retries temporary failures. @param ipv4Names names without IPv6 addresses */
export function startLookup(
  hostname: string,
  names: readonly string[],
  families: readonly Family[],
  { servers, ipv4Names }: { readonly servers: () => NameServers; readonly ipv4Names: Ipv4OnlyNames },
  events: LookupEvents,
): RunningLookup {
  let queries: readonly ReturnType<typeof startQuery>[] = [];
  /** True if only a repeated query got a response. Queries for later names are then repeated sooner. */
  let isLossy = false;
  /** Queries that may still get a response, even if their result is no longer needed. */
  let open = 0;
  let allResponded = true;
  /** Last error of earlier names. */
  let failed: unknown;
  let retries = 0;
  let isPausing = false;
  let searchUntil = 0;
  let isOver = false;
  let cancelTimer: (() => void) | undefined;
  const setTimer = (work: () => void, delayMs: number): void => {
    cancelTimer?.();
    cancelTimer = afterReading(work, delayMs);
  };

  const onEnd: QueryEvents['onEnd'] = (hasResponse) => {
    open -= 1;
    allResponded &&= hasResponse;
    if (isOver && open === 0) events.onEnd(allResponded);
  };

  function query(index: number): void {
    cancelTimer?.();
    isPausing = false;
    if (index === 0) searchUntil = performance.now() + SEARCH_DOMAINS_WITHIN_MS;
    const name = names[index] ?? '';
    const isLast = index === names.length - 1;
    const found = new Map<Family, LookupAddress[]>();
    const skipped: Family[] =
      families.includes(4) && ipv4Names.has(name) ? families.filter((one) => one === 6) : [];
    let lacksIpv6 = false;
    let pending = 0;
    let error: unknown;
    const ask = (asked: readonly Family[]): void => {
      pending += asked.length;
      open += asked.length;
      isLossy ||= queries.some((query) => query.neededRepetition());
      queries = asked.map((family) => startQuery(name, family, servers, isLossy, { onResult, onEnd }));
    };
    const settle = (): void => {
      const addresses = families.flatMap((family) => found.get(family) ?? []);
      if (addresses.length === 0 && skipped.length > 0) return ask(skipped.splice(0));
      if (lacksIpv6 && found.has(4)) ipv4Names.add(name);
      // The target may be unreachable over IPv6 from here, so an IPv4 address is needed.
      const lacksIpv4 = !found.has(4) && isTemporary(error) && retries < MAX_IPV4_RETRIES;
      if (addresses.length === 0) fail(error, isLast ? null : index + 1);
      else if (lacksIpv4) retry(error);
      else finish(() => events.onResult(null, addresses));
    };
    const onResult: QueryEvents['onResult'] = (family, failure, addresses) => {
      pending -= 1;
      if (failure !== null) {
        error = isTemporary(error) ? error : failure;
        lacksIpv6 ||= family === 6 && !isTemporary(failure);
      } else {
        const withFamily = addresses.map((address) => ({ address, family }));
        found.set(family, withFamily);
      }
      const lacksName = !isLast && family === 4 && errorCode(failure) === dns.NOTFOUND;
      // A name that does not exist has no IPv6 addresses either, so the next name is queried.
      if (pending === 0 || lacksName) settle();
      else if (found.has(4)) setTimer(settle, IPV6_WITHIN_MS);
      // A packet may be lost, so the IPv4 query is repeated a few times.
      else if (found.has(6)) setTimer(settle, 2 * servers().respondWithinMs);
    };
    // The servers of a search domain may hang. The name itself comes last, and must still be queried in time.
    if (!isLast && name !== names.at(-1) && name.startsWith(`${names.at(-1)}.`)) {
      const skip = (): void => {
        if (found.size > 0) settle();
        else fail(timeoutError(), names.length - 1);
      };
      setTimer(skip, Math.max(0, searchUntil - performance.now()));
    }
    ask(families.filter((family) => !skipped.includes(family)));
  }

  function fail(error: unknown, next: number | null): void {
    drop();
    // A temporary failure outweighs names that do not exist.
    if (!isTemporary(failed)) failed = error;
    if (next !== null) query(next);
    else if (isTemporary(failed)) retry(failed);
    else finish(() => events.onResult(lookupError('ENOTFOUND', hostname), []));
  }

  function retry(error: unknown): void {
    drop();
    const delayMs = RETRY_AFTER_MS[Math.min(retries, RETRY_AFTER_MS.length - 1)] ?? 0;
    retries += 1;
    failed = undefined;
    isPausing = true;
    setTimer(() => query(0), delayMs);
    events.onRetry(delayMs, error);
  }

  function finish(report?: () => void): void {
    isOver = true;
    drop();
    report?.();
    // During a pause, no open query could end the lookup.
    if (open === 0) events.onEnd(allResponded);
  }

  function drop(): void {
    cancelTimer?.();
    for (const query of queries) query.drop();
  }

  query(0);
  return {
    repeat: () => {
      if (isOver) return;
      if (isPausing) query(0);
      else for (const query of queries) query.repeat();
    },
    stop: () => {
      if (!isOver) finish();
    },
  };
}

interface QueryEvents {
  readonly onResult: (family: Family, error: unknown, addresses: readonly string[]) => void;
  /** Called when no more responses can arrive. */
  readonly onEnd: (hasResponse: boolean) => void;
}

/** Queries the addresses of one name and family until a server responds. */
function startQuery(
  name: string,
  family: Family,
  servers: () => NameServers,
  isLossy: boolean,
  { onResult, onEnd }: QueryEvents,
) {
  let sent = 0;
  let pending = 0;
  let failures = 0;
  /** Which query got the response, from 1. */
  let responded = 0;
  let hasResponse = false;
  let isOver = false;
  let cancelTimer: (() => void) | undefined;

  function send(patiently: boolean): void {
    const all = servers();
    const server = all.inOrder()[sent % all.count];
    cancelTimer?.();
    sent += 1;
    const number = sent;
    cancelTimer = afterReading(() => send(true), repeatAfterMs(all.respondWithinMs));
    pending += 1;
    server?.query(name, family, patiently, (error, addresses) => {
      pending -= 1;
      hasResponse ||= error?.code !== dns.TIMEOUT;
      if (!isOver) handle(number, error, addresses);
      if (isOver && pending === 0) onEnd(hasResponse);
    });
  }

  function repeatAfterMs(respondWithinMs: number): number {
    if (sent >= QUICK_QUERIES) return REPEAT_AFTER_MS.slow;
    if (isLossy) return REPEAT_AFTER_MS.lossy;
    return sent === 1 ? respondWithinMs : REPEAT_AFTER_MS.quick;
  }

  function handle(number: number, error: NodeJS.ErrnoException | null, addresses: readonly string[]): void {
    if (error === null || !isTemporary(error)) {
      responded = number;
      settle(error, addresses);
    } else if (error.code === dns.TIMEOUT) {
      if (pending === 0) send(true);
    } else {
      failures += 1;
      if (failures < servers().count) send(false);
      else if (pending === 0) settle(error, []);
    }
  }

  function settle(error: unknown, addresses: readonly string[]): void {
    drop();
    onResult(family, error, addresses);
  }

  function drop(): void {
    isOver = true;
    cancelTimer?.();
  }

  send(false);
  return {
    repeat: (): void => {
      if (!isOver) send(true);
    },
    neededRepetition: () => responded > 1,
    drop,
  };
}

/** Reports whether the name may still exist and have addresses. */
function isTemporary(error: unknown): boolean {
  if (error === undefined) return false;
  const code = errorCode(error);
  return code !== dns.NOTFOUND && code !== dns.NODATA && code !== dns.BADNAME;
}

function errorCode(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null)?.code;
}

function timeoutError(): NodeJS.ErrnoException {
  return Object.assign(new Error('no name server responded in time'), { code: dns.TIMEOUT });
}

/** An error like those of `getaddrinfo`, which callers handle. */
export function lookupError(code: 'ENOTFOUND' | 'EAI_AGAIN', hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), {
    code,
    syscall: 'getaddrinfo',
    hostname,
  });
}
