import dns, { type LookupAddress } from 'node:dns';
import os from 'node:os';
import type { LookupAll } from '../guarded-lookup.ts';
import { NameServers } from './name-server.ts';
import {
  candidates,
  configReader,
  type Family,
  localAddresses,
  type NameFiles,
  routedFamilies,
} from './system-config.ts';

/** A name server that has not answered by then is passed over: the next one, or the same one, is asked as well. */
const ANSWER_WITHIN_MS = 1_500;
/** How long after the second question of a lookup the third is sent, and so on. */
const ASK_AGAIN_AFTER_MS = 3_000;
/** When every server refuses, fails or cannot be reached, the lookup pauses for this long, then asks again. The last pause repeats. */
const RETRY_AFTER_MS = [250, 500, 1_000, 2_000] as const;
/** How often a failed question for IPv4 addresses is repeated when the name has IPv6 addresses. */
const MAX_IPV4_RETRIES = 2;
/** A search domain that takes longer is passed over. */
const SEARCH_DOMAIN_WITHIN_MS = 3_000;
/** Once there are IPv4 addresses, a server that ignores questions for IPv6 must not delay the check (RFC 8305, section 3). */
const IPV6_WITHIN_MS = 250;
/** How often the files and the interfaces are read again at most. */
const REREAD_AFTER_MS = 5_000;
export interface NameResolverOptions extends NameFiles {
  /** Replaces the system's name servers, each as `127.0.0.1:5353`; for tests. */
  readonly servers?: readonly string[];
  /** How long a server has to answer before the next one is asked as well; default 1.5 s. */
  readonly answerWithinMs?: number;
  /** Replaces the interfaces of this machine; for tests. */
  readonly interfaces?: typeof os.networkInterfaces;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** What a lookup reports. */
export interface LookupEvents {
  /** Called at most once, and not after `stop`. */
  readonly onResult: Parameters<LookupAll>[2];
  /** Every name server refused, failed or could not be reached. The next question follows after `retryInMs`. */
  readonly onRetry: (retryInMs: number) => void;
  /**
   * Called once, when no question is open any more: together with `onResult` or later.
   * @param isAnswered false if a question was never answered: the name servers may still be busy with it
   */
  readonly onEnd: (isAnswered: boolean) => void;
}

/** A lookup under way. */
export interface RunningLookup {
  /** Sends the open questions again now. */
  askAgain(): void;
  /** Stops waiting for responses. `onEnd` is still called. */
  stop(): void;
}

/** `dns.lookup` whose questions may outlive its result. */
export type StartLookup = (
  hostname: string,
  options: Parameters<LookupAll>[1],
  events: LookupEvents,
) => RunningLookup;

/**
 * Resolves names as `dns.lookup` does - `/etc/hosts` first, then the name servers with the search domains of `/etc/resolv.conf` - but on
 * sockets instead of threads. libuv has a fixed number of threads and cannot cancel `getaddrinfo`, so a few names whose servers never
 * answer stop every other lookup of the process. Here they cost a little memory. While no server answers, or all of them fail, a lookup
 * asks again until it is stopped.
 */
export function createNameResolver(options: NameResolverOptions = {}): StartLookup {
  const { now = () => performance.now(), interfaces = os.networkInterfaces } = options;
  const { answerWithinMs = ANSWER_WITHIN_MS } = options;
  const readConfig = configReader(options);
  let config = readConfig();
  let families = routedFamilies(interfaces());
  let servers = new NameServers(serverAddresses(options), answerWithinMs, now);
  let readAt = now();

  const refresh = (name: string): void => {
    if (now() - readAt < REREAD_AFTER_MS) return;
    readAt = now();
    try {
      config = readConfig();
      families = routedFamilies(interfaces());
      servers = servers.renewed(serverAddresses(options), name);
    } catch {
      // Such as a process without free file descriptors. What was read before still holds.
    }
  };

  return (hostname, { family, hints = 0 }, events) => {
    const name = hostname.replace(/\.$/, '').toLowerCase();
    refresh(name);
    const wanted: readonly Family[] =
      family === 4 || family === 6 ? [family] : (hints & dns.ADDRCONFIG) === 0 ? [6, 4] : families;
    const local = localAddresses(name, config.hosts);
    if (local !== null) {
      const found = local.filter((address) => wanted.includes(address.family as Family));
      // As from a name server, never before this function returns.
      const immediate = setImmediate(() => {
        if (found.length > 0) events.onResult(null, found);
        else events.onResult(failure('ENOTFOUND', hostname), []);
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

/** Null: c-ares asks all servers of the system itself, which is the only way to reach those with a zone (`fe80::1%eth0`). */
function serverAddresses({ servers }: NameResolverOptions): readonly (string | null)[] {
  if (servers !== undefined) return servers;
  const found = new dns.Resolver().getServers();
  return found.length < 2 || found.some((address) => address.includes('%')) ? [null] : found;
}

/** Looks for the first of some names that has addresses. Starts over if a failure may be temporary. */
class NameLookup implements RunningLookup {
  readonly #hostname: string;
  readonly #names: readonly string[];
  readonly #families: readonly Family[];
  readonly #servers: () => NameServers;
  readonly #events: LookupEvents;
  #questions: readonly Question[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Questions that a server may still answer, including those that nobody waits for. */
  #open = 0;
  #isAnswered = true;
  /** Why earlier names have no addresses. */
  #failed: unknown;
  #retries = 0;
  #isRetrying = false;
  #over = false;

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
    this.#ask(0);
  }

  askAgain(): void {
    if (this.#over) return;
    if (this.#isRetrying) this.#ask(0);
    else for (const question of this.#questions) question.askAgain();
  }

  stop(): void {
    if (!this.#over) this.#finish();
  }

  /** Asks for one of the names, and then for those after it. */
  #ask(index: number): void {
    this.#clearTimer();
    this.#isRetrying = false;
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
    const answered = (family: Family, error: unknown, addresses: readonly string[]): void => {
      pending -= 1;
      if (error === null)
        found.set(
          family,
          addresses.map((address) => ({ address, family })),
        );
      else if (!isTemporary(failed)) failed = error;
      if (pending === 0) settle();
      else if (found.has(4)) this.#setTimer(settle, IPV6_WITHIN_MS);
      // The packet may be lost: the question for IPv4 addresses is repeated once before the lookup does without them.
      else if (found.has(6)) this.#setTimer(settle, 2 * this.#servers().answerWithinMs);
    };
    // A search domain whose servers hang must not keep the name itself from being asked for, which comes last then.
    if (!isLast && isWithin(name, this.#names.at(-1)))
      this.#setTimer(() => {
        if (found.size > 0) settle();
        else this.#fail(timedOut(), this.#names.length - 1);
      }, SEARCH_DOMAIN_WITHIN_MS);
    this.#open += this.#families.length;
    const closed = (isAnswered: boolean): void => {
      this.#open -= 1;
      this.#isAnswered &&= isAnswered;
      if (this.#over && this.#open === 0) this.#events.onEnd(this.#isAnswered);
    };
    this.#questions = this.#families.map(
      (family) => new Question(name, family, this.#servers, answered, closed),
    );
  }

  /** @param next the index of the name to ask for now; null: there is none */
  #fail(error: unknown, next: number | null): void {
    this.#drop();
    // A failure that may be temporary outweighs names that do not exist.
    if (!isTemporary(this.#failed)) this.#failed = error;
    if (next !== null) this.#ask(next);
    else if (isTemporary(this.#failed)) this.#retry();
    else this.#finish(() => this.#events.onResult(failure('ENOTFOUND', this.#hostname), []));
  }

  /** Asks for all names again after a pause. */
  #retry(): void {
    this.#drop();
    const delayMs = RETRY_AFTER_MS[Math.min(this.#retries, RETRY_AFTER_MS.length - 1)] ?? 0;
    this.#retries += 1;
    this.#failed = undefined;
    this.#isRetrying = true;
    this.#setTimer(() => this.#ask(0), delayMs);
    this.#events.onRetry(delayMs);
  }

  #finish(tell: () => void = () => undefined): void {
    this.#over = true;
    this.#drop();
    tell();
    // Between two attempts no question is open that could end the lookup.
    if (this.#open === 0) this.#events.onEnd(this.#isAnswered);
  }

  /** Waits no longer for the questions under way. */
  #drop(): void {
    this.#clearTimer();
    for (const question of this.#questions) question.drop();
  }

  /** Responses that have arrived are read before the timer counts: the process may have been short of CPU. */
  #setTimer(work: () => void, delayMs: number): void {
    this.#clearTimer();
    const timer = setTimeout(() => {
      setImmediate(() => {
        if (this.#timer === timer) work();
      });
    }, delayMs);
    this.#timer = timer;
  }

  #clearTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** The addresses of one name in one family. Asks until a server answers or nobody waits any more. */
class Question {
  readonly #name: string;
  readonly #family: Family;
  readonly #servers: () => NameServers;
  readonly #answered: (family: Family, error: unknown, addresses: readonly string[]) => void;
  readonly #closed: (isAnswered: boolean) => void;
  #asked = 0;
  #pending = 0;
  #failures = 0;
  #isAnswered = false;
  #over = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    name: string,
    family: Family,
    servers: () => NameServers,
    answered: (family: Family, error: unknown, addresses: readonly string[]) => void,
    closed: (isAnswered: boolean) => void,
  ) {
    this.#name = name;
    this.#family = family;
    this.#servers = servers;
    this.#closed = closed;
    this.#answered = answered;
    this.#ask(false);
  }

  drop(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  askAgain(): void {
    if (!this.#over) this.#ask(true);
  }

  #ask(patiently: boolean): void {
    const servers = this.#servers();
    const server = servers.inOrder()[this.#asked % servers.count];
    const withinMs = this.#asked === 0 ? servers.answerWithinMs : ASK_AGAIN_AFTER_MS;
    this.#asked += 1;
    this.#pending += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // Answers that have arrived are read first: the process may have been short of CPU.
      setImmediate(() => this.#over || this.#ask(true));
    }, withinMs);
    server?.ask(this.#name, this.#family, patiently, (error, addresses) => {
      this.#pending -= 1;
      this.#isAnswered ||= error?.code !== dns.TIMEOUT;
      if (!this.#over) this.#judge(error, addresses);
      if (this.#over && this.#pending === 0) this.#closed(this.#isAnswered);
    });
  }

  #judge(error: NodeJS.ErrnoException | null, addresses: readonly string[]): void {
    if (error === null || !isTemporary(error)) this.#settle(error, addresses);
    else if (error.code === dns.TIMEOUT) {
      if (this.#pending === 0) this.#ask(true);
    } else {
      this.#failures += 1;
      if (this.#failures < this.#servers().count) this.#ask(false);
      else if (this.#pending === 0) this.#settle(error, []);
    }
  }

  #settle(error: unknown, addresses: readonly string[]): void {
    this.drop();
    this.#answered(this.#family, error, addresses);
  }
}

function isWithin(name: string, bare: string | undefined): boolean {
  return name !== bare && name.startsWith(`${bare}.`);
}

/** Whether this is an error other than that the name does not exist or has no addresses. */
function isTemporary(error: unknown): boolean {
  if (error === undefined) return false;
  const { code } = error as { readonly code?: unknown };
  return code !== dns.NOTFOUND && code !== dns.NODATA && code !== dns.BADNAME;
}

function timedOut(): NodeJS.ErrnoException {
  return Object.assign(new Error('no name server answered in time'), { code: dns.TIMEOUT });
}

/** Named as getaddrinfo names it, which is what callers know. */
export function failure(code: 'ENOTFOUND' | 'EAI_AGAIN', hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), {
    code,
    syscall: 'getaddrinfo',
    hostname,
  });
}
