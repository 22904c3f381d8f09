import dns, { type LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import os from 'node:os';
import type { LookupAll } from './guarded-lookup.ts';

/** c-ares asks this many times and doubles the time-out each time: with 1.5 s, a name that nobody answers fails after about 10 s. */
const TRIES = 3;
const ANSWER_WITHIN_MS = 1_500;
/** Once one family has addresses, a server that ignores questions for the other must not delay the check (RFC 8305, section 3). */
const OTHER_FAMILY_WITHIN_MS = 250;
/** How often the files and the interfaces are read again at most. */
const REREAD_AFTER_MS = 5_000;
const DEFAULT_NDOTS = 1;
const MAX_NDOTS = 15;

type Family = 4 | 6;

export interface NameResolverOptions {
  /** Default: `/etc/hosts`. */
  readonly hostsFile?: string;
  /** Default: `/etc/resolv.conf`. Its name servers are read by c-ares itself. */
  readonly configFile?: string;
  /** Replaces the system's name servers, each as `127.0.0.1:5353`; for tests. */
  readonly servers?: readonly string[];
  /** How long a server has to answer before it, or the next one, is asked again; default 1.5 s. */
  readonly answerWithinMs?: number;
  /** Replaces the interfaces of this machine; for tests. */
  readonly interfaces?: typeof os.networkInterfaces;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** What the system says about names, apart from its name servers. */
interface NameConfig {
  readonly hosts: ReadonlyMap<string, readonly LookupAddress[]>;
  readonly search: readonly string[];
  readonly ndots: number;
}

/**
 * Resolves names as `dns.lookup` does - `/etc/hosts` first, then the name servers with the search domains of `/etc/resolv.conf` - but on
 * sockets instead of threads. libuv has a fixed number of threads and cannot cancel `getaddrinfo`, so a few names whose servers never
 * answer stop every other lookup of the process. Here they cost a little memory until they fail.
 */
export function createNameResolver(options: NameResolverOptions = {}): LookupAll {
  const { now = () => performance.now(), interfaces = os.networkInterfaces } = options;
  const readConfig = configReader(options);
  let config = readConfig();
  let families = routedFamilies(interfaces());
  let resolver = createResolver(options);
  let readAt = now();

  /** A new resolver reads the name servers again; queries that are under way end with the old one. */
  const refresh = (): void => {
    if (now() - readAt < REREAD_AFTER_MS) return;
    readAt = now();
    config = readConfig();
    families = routedFamilies(interfaces());
    resolver = createResolver(options);
  };

  return (hostname, { family, hints = 0 }, callback) => {
    refresh();
    const name = hostname.replace(/\.$/, '').toLowerCase();
    const wanted: readonly Family[] =
      family === 4 || family === 6 ? [family] : (hints & dns.ADDRCONFIG) === 0 ? [6, 4] : families;
    const local = localAddresses(name, config.hosts);
    if (local !== null) {
      const found = local.filter((address) => wanted.includes(address.family as Family));
      // As from a name server, never before this function returns.
      setImmediate(() =>
        found.length > 0 ? callback(null, found) : callback(failure('ENOTFOUND', hostname), []),
      );
      return;
    }
    const names = hostname.endsWith('.') ? [name] : candidates(name, config);
    resolveFirst(resolver, names, wanted).then(
      (addresses) => callback(null, addresses),
      (error: unknown) => callback(failure(codeOf(error), hostname), []),
    );
  };
}

function createResolver({ servers, answerWithinMs = ANSWER_WITHIN_MS }: NameResolverOptions): dns.Resolver {
  const resolver = new dns.Resolver({ timeout: answerWithinMs, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return resolver;
}

/** Reads both files, each again only after it was changed. A file that is not there or cannot be read is empty. */
function configReader({
  hostsFile = '/etc/hosts',
  configFile = '/etc/resolv.conf',
}: NameResolverOptions): () => NameConfig {
  const readHosts = whenChanged(hostsFile, parseHosts);
  const readSearch = whenChanged(configFile, parseSearch);
  return () => ({ hosts: readHosts(), ...readSearch() });
}

function whenChanged<Parsed>(file: string, parse: (text: string) => Parsed): () => Parsed {
  let stamp = '';
  let parsed = parse('');
  return () => {
    try {
      const { mtimeMs, ino, size } = statSync(file);
      const found = `${mtimeMs} ${ino} ${size}`;
      if (found !== stamp) {
        parsed = parse(readFileSync(file, 'utf8'));
        stamp = found;
      }
    } catch {
      stamp = '';
      parsed = parse('');
    }
    return parsed;
  };
}

function parseHosts(text: string): NameConfig['hosts'] {
  const hosts = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*$/, '').trim().split(/\s+/);
    const family = isFamily(address);
    if (family === null) continue;
    for (const name of names) {
      const key = name.replace(/\.$/, '').toLowerCase();
      const known = hosts.get(key);
      if (known === undefined) hosts.set(key, [{ address, family }]);
      else if (!known.some((other) => other.address === address)) known.push({ address, family });
    }
  }
  return hosts;
}

/** The directives of resolv.conf(5) that are not about servers; of several `search` or `domain` lines the last one counts. */
function parseSearch(text: string): Pick<NameConfig, 'search' | 'ndots'> {
  let search: readonly string[] = [];
  let ndots = DEFAULT_NDOTS;
  for (const line of text.split('\n')) {
    const [directive = '', ...values] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/);
    if (directive === 'search') search = values;
    else if (directive === 'domain') search = values.slice(0, 1);
    else if (directive === 'options') {
      const given = values
        .map((value) => /^ndots:(\d{1,2})$/.exec(value)?.[1])
        .find((value) => value !== undefined);
      if (given !== undefined) ndots = Math.min(Number(given), MAX_NDOTS);
    }
  }
  const domains = search
    .map((domain) => domain.replace(/\.$/, '').toLowerCase())
    .filter((domain) => domain !== '');
  return { search: domains, ndots };
}

/** Of `localhost` and the names below it no name server is asked (RFC 6761). Null: the name is not known here. */
function localAddresses(name: string, hosts: NameConfig['hosts']): readonly LookupAddress[] | null {
  const known = hosts.get(name);
  if (known !== undefined) return known;
  if (name !== 'localhost' && !name.endsWith('.localhost')) return null;
  return [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ];
}

/** The names to ask for, in the order of resolv.conf(5): one with few dots is tried within the search domains first. */
function candidates(name: string, { search, ndots }: NameConfig): readonly string[] {
  const within = search.map((domain) => `${name}.${domain}`);
  return name.split('.').length - 1 >= ndots ? [name, ...within] : [...within, name];
}

/**
 * The addresses of the first of these names that has any.
 * @throws what the last name failed with, or the first failure that may be temporary
 */
async function resolveFirst(
  resolver: dns.Resolver,
  names: readonly string[],
  families: readonly Family[],
): Promise<LookupAddress[]> {
  let failed: unknown;
  for (const name of names) {
    try {
      return await resolveBoth(resolver, name, families);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EAI_AGAIN' && !isServerFailure(error)) throw error;
      if (failed === undefined || codeOf(failed) !== 'EAI_AGAIN') failed = error;
    }
  }
  throw failed;
}

/** The addresses of a name in all these families, those of the first family first. */
function resolveBoth(
  resolver: dns.Resolver,
  name: string,
  families: readonly Family[],
): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    const found = new Map<Family, LookupAddress[]>();
    let pending = families.length;
    let failed: unknown;
    let timer: NodeJS.Timeout | undefined;
    const finish = (): void => {
      clearTimeout(timer);
      const addresses = families.flatMap((family) => found.get(family) ?? []);
      if (addresses.length > 0) resolve(addresses);
      else reject(failed);
    };
    for (const family of families) {
      const answered = (error: NodeJS.ErrnoException | null, addresses: string[]): void => {
        pending -= 1;
        if (error === null)
          found.set(
            family,
            addresses.map((address) => ({ address, family })),
          );
        else if (failed === undefined || codeOf(failed) === 'ENOTFOUND') failed = error;
        if (pending === 0) finish();
        else if (found.size > 0) timer ??= setTimeout(finish, OTHER_FAMILY_WITHIN_MS);
      };
      if (family === 4) resolver.resolve4(name, answered);
      else resolver.resolve6(name, answered);
    }
  });
}

/**
 * The families to ask for: of those that an interface has an address of, as `AI_ADDRCONFIG` has it, but for link-local addresses, over
 * which nothing with a name is reached. Where there is no such address, both.
 */
function routedFamilies(interfaces: ReturnType<typeof os.networkInterfaces>): readonly Family[] {
  const addresses = Object.values(interfaces)
    .flatMap((all) => all ?? [])
    .filter(({ internal, address }) => !internal && !/^(169\.254\.|fe[89ab])/i.test(address));
  const families = ([6, 4] as const).filter((family) =>
    addresses.some((one) => one.family === `IPv${family}`),
  );
  return families.length === 0 ? [6, 4] : families;
}

function isFamily(address: string): Family | null {
  const family = isIP(address);
  return family === 0 ? null : (family as Family);
}

/** A name that does not exist or has no addresses is `ENOTFOUND`; any other failure may be temporary, as with getaddrinfo. */
function codeOf(error: unknown): 'ENOTFOUND' | 'EAI_AGAIN' {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return code === dns.NOTFOUND || code === dns.NODATA || code === dns.BADNAME ? 'ENOTFOUND' : 'EAI_AGAIN';
}

/** A server that says it failed for this name may still know the next one. */
function isServerFailure(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === dns.SERVFAIL;
}

/** Named as getaddrinfo names it, which is what callers know. */
export function failure(code: 'ENOTFOUND' | 'EAI_AGAIN', hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), {
    code,
    syscall: 'getaddrinfo',
    hostname,
  });
}
