import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import os from 'node:os';
import { NameServers } from './name-server.ts';
import {
  candidates,
  configReader,
  localAddresses,
  normalize,
  routedFamilies,
  type Family,
  type NameFiles,
} from './system-config.ts';

/** After this time without a response, the next server (or the same one again) is queried, too. */
const RESPOND_WITHIN_MS = 1_500;
/** Between the second query and the third, and so on. */
const REPEAT_AFTER_MS = 3_000;
/** The pauses before a lookup starts over because every server refused, failed or was unreachable. The last pause repeats. */
const RETRY_AFTER_MS = [250, 500, 1_000, 2_000] as const;
/** How often a failed query for IPv4 addresses is repeated if the name has IPv6 addresses. */
const MAX_IPV4_RETRIES = 2;
/** A search domain that takes longer is skipped. */
const SEARCH_DOMAIN_WITHIN_MS = 3_000;
/** After the IPv4 addresses, a server that ignores queries for IPv6 must not delay the check (RFC 8305, section 3). */
const IPV6_WITHIN_MS = 250;
/** How often the files and the interfaces are read at most. */
const REREAD_AFTER_MS = 5_000;

/** `dns.lookup` for all addresses of a name. */
export type LookupAll = (hostname: string, options: Options, callback: OnResult) => void;
type Options = LookupOptions & { all: true };
type OnResult = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

export interface NameResolverOptions extends NameFiles {
  /** Replaces the system's name servers, each as `127.0.0.1:5353`, for tests. */
  readonly servers?: readonly string[];
  /** How long a server has to respond before the next one is queried, too. Default 1.5 s. */
  readonly respondWithinMs?: number;
  /** Replaces the interfaces of this machine, for tests. */
  readonly interfaces?: typeof os.networkInterfaces;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

export interface LookupEvents {
  /** Called at most once, and not after `stop`. */
  readonly onResult: OnResult;
  /** Every name server refused, failed or was unreachable. The lookup starts over after `retryInMs`. */
  readonly onRetry: (retryInMs: number) => void;
  /**
   * Called once, after the last query has ended: together with `onResult` or later.
   * @param isAnswered false if a query got no response: the name servers may still be busy with it
   */
  readonly onEnd: (isAnswered: boolean) => void;
}

export interface RunningLookup {
  /** Repeats the open queries now. */
  askAgain(): void;
  /** Stops waiting for responses. `onEnd` is still called. */
  stop(): void;
}

/** `dns.lookup` whose queries may outlive its result. */
export type StartLookup = (hostname: string, options: Options, events: LookupEvents) => RunningLookup;

/**
 * Resolves names as `dns.lookup` does - `/etc/hosts` first, then the name servers with the search domains of `/etc/resolv.conf` - but on
 * sockets instead of threads. libuv has a fixed number of threads and cannot cancel `getaddrinfo`, so a few names whose servers never
 * respond would block every other lookup of the process. Here they cost a little memory. A lookup without a response is repeated until
 * it is stopped.
 */
export function createNameResolver(options: NameResolverOptions = {}): StartLookup {
  const { now = () => performance.now(), interfaces = os.networkInterfaces } = options;
  const readConfig = configReader(options);
  let config = readConfig();
  let families = routedFamilies(interfaces());
  let servers = new NameServers(serverAddresses(options), options.respondWithinMs ?? RESPOND_WITHIN_MS, now);
  let readAt = now();

  const refresh = (name: string): void => {
    if (now() - readAt < REREAD_AFTER_MS) return;
    readAt = now();
    try {
      config = readConfig();
      families = routedFamilies(interfaces());
      servers = servers.renewed(serverAddresses(options), name);
    } catch {
      // For example, no free file descriptors. The previous configuration is kept.
    }
  };

  return (hostname, { family, hints = 0 }, events) => {
    const name = normalize(hostname);
    refresh(name);
    const wanted: readonly Family[] =
      family === 4 || family === 6 ? [family] : (hints & dns.ADDRCONFIG) === 0 ? [6, 4] : families;
    const local = localAddresses(name, config.hosts);
    if (local !== null) {
      const found = local.filter((address) => wanted.includes(address.family as Family));
      // As with a name server, not before this function returns.
      const immediate = setImmediate(() => {
        if (found.length > 0) events.onResult(null, found);
        else events.onResult(lookupError('ENOTFOUND', hostname), []);
        events.onEnd(true);
      });
      return {
        askAgain: () => undefined,
        stop: () => {
          clearImmediate(immediate);
          events.onEnd(true);
        },
      };
    }
    const names = hostname.endsWith('.') ? [name] : candidates(name, config);
    return new NameLookup(hostname, names, wanted, () => servers, events);
  };
}

/** Null: c-ares chooses among the system's servers, which is the only way to reach those with a zone (`fe80::1%eth0`). */
function serverAddresses({ servers }: NameResolverOptions): readonly (string | null)[] {
  if (servers !== undefined) return servers;
  const found = new dns.Resolver().getServers();
  return found.length < 2 || found.some((address) => address.includes('%')) ? [null] : found;
}

/** A timer that fires after received responses are read: it may be late because the process was short of CPU. */
class PatientTimer {
  #timer: NodeJS.Timeout | undefined;

  set(work: () => void, delayMs: number): void {
    this.clear();
    const timer = setTimeout(() => setImmediate(() => this.#timer === timer && work()), delayMs);
    this.#timer = timer;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** Looks for the first of several names with addresses. Starts over after a failure that may be temporary. */
class NameLookup implements RunningLookup {
  readonly #hostname: string;
  readonly #names: readonly string[];
  readonly #families: readonly Family[];
  readonly #servers: () => NameServers;
  readonly #events: LookupEvents;
  readonly #timer = new PatientTimer();
  #queries: readonly Query[] = [];
  /** Queries that a server may still answer, including those whose result is no longer needed. */
  #open = 0;
  #isAnswered = true;
  /** Why earlier names have no addresses. */
  #failed: unknown;
  #retries = 0;
  #isPausing = false;
  #isOver = false;

  constructor(
    hostname: string,
    names: readonly string[],
    families: readonly Family[],
    servers: () => NameServers,
    events: LookupEvents,
  ) {
    this.#hostname = hostname;
    this.#names = names;
    this.#families = families;
    this.#servers = servers;
    this.#events = events;
    this.#query(0);
  }

  askAgain(): void {
    if (this.#isOver) return;
    if (this.#isPausing) this.#query(0);
    else for (const query of this.#queries) query.repeat();
  }

  stop(): void {
    if (!this.#isOver) this.#finish();
  }

  /** Queries one of the names, and then those after it. */
  #query(index: number): void {
    this.#timer.clear();
    this.#isPausing = false;
    const name = this.#names[index] ?? '';
    const isLast = index === this.#names.length - 1;
    const found = new Map<Family, LookupAddress[]>();
    let pending = this.#families.length;
    let failed: unknown;
    const settle = (): void => {
      const addresses = this.#families.flatMap((family) => found.get(family) ?? []);
      // Without IPv4 addresses the target may be unreachable from here.
      const lacksIpv4 = !found.has(4) && isTemporary(failed) && this.#retries < MAX_IPV4_RETRIES;
      if (addresses.length === 0) this.#fail(failed, isLast ? null : index + 1);
      else if (lacksIpv4) this.#retry();
      else this.#finish(() => this.#events.onResult(null, addresses));
    };
    const onResult: QueryEvents['onResult'] = (family, error, addresses) => {
      pending -= 1;
      if (error === null)
        found.set(
          family,
          addresses.map((address) => ({ address, family })),
        );
      else if (!isTemporary(failed)) failed = error;
      if (pending === 0) settle();
      else if (found.has(4)) this.#timer.set(settle, IPV6_WITHIN_MS);
      // A packet may be lost: the query for IPv4 addresses is repeated once before the lookup does without them.
      else if (found.has(6)) this.#timer.set(settle, 2 * this.#servers().respondWithinMs);
    };
    const onEnd: QueryEvents['onEnd'] = (isAnswered) => {
      this.#open -= 1;
      this.#isAnswered &&= isAnswered;
      if (this.#isOver && this.#open === 0) this.#events.onEnd(this.#isAnswered);
    };
    // If the servers of a search domain hang, the name itself, which comes last then, must be queried in time.
    if (!isLast && name !== this.#names.at(-1) && name.startsWith(`${this.#names.at(-1)}.`)) {
      this.#timer.set(() => {
        if (found.size > 0) settle();
        else this.#fail(timeoutError(), this.#names.length - 1);
      }, SEARCH_DOMAIN_WITHIN_MS);
    }
    this.#open += this.#families.length;
    this.#queries = this.#families.map(
      (family) => new Query(name, family, this.#servers, { onResult, onEnd }),
    );
  }

  /** @param next the index of the name to query now; null: there is none */
  #fail(error: unknown, next: number | null): void {
    this.#drop();
    // A temporary failure outweighs names that do not exist.
    if (!isTemporary(this.#failed)) this.#failed = error;
    if (next !== null) this.#query(next);
    else if (isTemporary(this.#failed)) this.#retry();
    else this.#finish(() => this.#events.onResult(lookupError('ENOTFOUND', this.#hostname), []));
  }

  /** Starts over after a pause. */
  #retry(): void {
    this.#drop();
    const delayMs = RETRY_AFTER_MS[Math.min(this.#retries, RETRY_AFTER_MS.length - 1)] ?? 0;
    this.#retries += 1;
    this.#failed = undefined;
    this.#isPausing = true;
    this.#timer.set(() => this.#query(0), delayMs);
    this.#events.onRetry(delayMs);
  }

  #finish(report: () => void = () => undefined): void {
    this.#isOver = true;
    this.#drop();
    report();
    // During a pause no query is open that could end the lookup.
    if (this.#open === 0) this.#events.onEnd(this.#isAnswered);
  }

  /** Stops waiting for the current queries. */
  #drop(): void {
    this.#timer.clear();
    for (const query of this.#queries) query.drop();
  }
}

interface QueryEvents {
  readonly onResult: (family: Family, error: unknown, addresses: readonly string[]) => void;
  /** Called when no server can respond any more. */
  readonly onEnd: (isAnswered: boolean) => void;
}

/** Queries the addresses of one name in one family until a server responds or the query is dropped. */
class Query {
  readonly #name: string;
  readonly #family: Family;
  readonly #servers: () => NameServers;
  readonly #events: QueryEvents;
  readonly #timer = new PatientTimer();
  #sent = 0;
  #pending = 0;
  #failures = 0;
  #isAnswered = false;
  #isOver = false;

  constructor(name: string, family: Family, servers: () => NameServers, events: QueryEvents) {
    this.#name = name;
    this.#family = family;
    this.#servers = servers;
    this.#events = events;
    this.#send(false);
  }

  drop(): void {
    this.#isOver = true;
    this.#timer.clear();
  }

  repeat(): void {
    if (!this.#isOver) this.#send(true);
  }

  #send(patiently: boolean): void {
    const servers = this.#servers();
    const server = servers.inOrder()[this.#sent % servers.count];
    this.#timer.set(() => this.#send(true), this.#sent === 0 ? servers.respondWithinMs : REPEAT_AFTER_MS);
    this.#sent += 1;
    this.#pending += 1;
    server?.query(this.#name, this.#family, patiently, (error, addresses) => {
      this.#pending -= 1;
      this.#isAnswered ||= error?.code !== dns.TIMEOUT;
      if (!this.#isOver) this.#handle(error, addresses);
      if (this.#isOver && this.#pending === 0) this.#events.onEnd(this.#isAnswered);
    });
  }

  #handle(error: NodeJS.ErrnoException | null, addresses: readonly string[]): void {
    if (error === null || !isTemporary(error)) this.#settle(error, addresses);
    else if (error.code === dns.TIMEOUT) {
      if (this.#pending === 0) this.#send(true);
    } else {
      this.#failures += 1;
      if (this.#failures < this.#servers().count) this.#send(false);
      else if (this.#pending === 0) this.#settle(error, []);
    }
  }

  #settle(error: unknown, addresses: readonly string[]): void {
    this.drop();
    this.#events.onResult(this.#family, error, addresses);
  }
}

/** Whether this is an error other than that the name does not exist or has no addresses. */
function isTemporary(error: unknown): boolean {
  if (error === undefined) return false;
  const { code } = error as { readonly code?: unknown };
  return code !== dns.NOTFOUND && code !== dns.NODATA && code !== dns.BADNAME;
}

function timeoutError(): NodeJS.ErrnoException {
  return Object.assign(new Error('no name server responded in time'), { code: dns.TIMEOUT });
}

/** An error as of `getaddrinfo`, which callers know. */
export function lookupError(code: 'ENOTFOUND' | 'EAI_AGAIN', hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), {
    code,
    syscall: 'getaddrinfo',
    hostname,
  });
}
