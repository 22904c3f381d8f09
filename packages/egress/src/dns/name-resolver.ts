import dns, { type LookupOptions } from 'node:dns';
import os from 'node:os';
import {
  lookupError,
  startLookup,
  type LookupEvents,
  type OnResult,
  type RunningLookup,
} from './name-lookup.ts';
import { createNameServers } from './name-server.ts';
import { RecentNames } from './recent-names.ts';
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
const RESPOND_WITHIN_MS = 1_000;
/** The minimum time between two reads of the files and the interfaces. */
const REREAD_AFTER_MS = 5_000;

/** Names without IPv6 addresses: to query these again at every check would double the queries of most checks. */
const IPV4_NAMES = { forMs: 2 * 60_000, limit: 100_000 };

export type LookupAll = (hostname: string, options: Options, callback: OnResult) => void;
type Options = LookupOptions & { all: true };

export interface NameResolverOptions extends NameFiles {
  /** Replaces the system's name servers, each as `127.0.0.1:5353`, for tests. */
  readonly servers?: readonly string[];
  /** How long a server has to respond before the next one is queried, too. Default 1 s. */
  readonly respondWithinMs?: number;
  readonly interfaces?: typeof os.networkInterfaces;
  readonly now?: () => number;
}

/** `dns.lookup` whose queries may outlive its result. */
export type StartLookup = (hostname: string, options: Options, events: LookupEvents) => RunningLookup;

/** Resolves names as `dns.lookup` does, but on sockets: names whose servers hang delay no others (docs/adr/0014-fair-shares.md). */
export function createNameResolver(options: NameResolverOptions = {}): StartLookup {
  const { now = () => performance.now(), interfaces = os.networkInterfaces } = options;
  const readConfig = configReader(options);
  let config = readConfig();
  let families = routedFamilies(interfaces());
  let servers = createNameServers(
    serverAddresses(options),
    options.respondWithinMs ?? RESPOND_WITHIN_MS,
    now,
  );
  let readAt = now();
  const ipv4Names = new RecentNames({ ...IPV4_NAMES, now });

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
    if (local === null) {
      const names = hostname.endsWith('.') ? [name] : candidates(name, config);
      return startLookup(hostname, names, wanted, { servers: () => servers, ipv4Names }, events);
    }
    const found = local.filter((address) => wanted.includes(address.family as Family));
    // As with a name server, not before this function returns.
    const immediate = setImmediate(() => {
      events.onResult(found.length > 0 ? null : lookupError('ENOTFOUND', hostname), found);
      events.onEnd(true);
    });
    const stop = (): void => {
      clearImmediate(immediate);
      events.onEnd(true);
    };
    return { repeat: () => undefined, stop };
  };
}

/** Null: c-ares chooses among the system's servers, which is the only way to reach those with a zone (`fe80::1%eth0`). */
function serverAddresses({ servers }: NameResolverOptions): readonly (string | null)[] {
  if (servers !== undefined) return servers;
  const found = new dns.Resolver().getServers();
  return found.length < 2 || found.some((address) => address.includes('%')) ? [null] : found;
}
