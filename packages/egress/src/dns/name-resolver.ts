import dns, { type LookupOptions } from 'node:dns';
import os from 'node:os';
import { Ipv4OnlyNames } from './ipv4-only-names.ts';
import {
  lookupError,
  startLookup,
  type LookupEvents,
  type OnResult,
  type RunningLookup,
} from './name-lookup.ts';
import { createNameServers } from './name-server.ts';
import {
  candidates,
  configReader,
  localAddresses,
  normalize,
  routedFamilies,
  type Family,
  type NameFiles,
} from './system-config.ts';

/** If there is no response for this long, the next server is queried too, which may be the same one. */
const RESPOND_WITHIN_MS = 1_000;
const REREAD_AFTER_MS = 5_000;

export type LookupAll = (hostname: string, options: Options, callback: OnResult) => void;
type Options = LookupOptions & { all: true };

export interface NameResolverOptions extends NameFiles {
  /** Test servers such as `127.0.0.1:5353` in place of the system's. */
  readonly servers?: readonly string[];
  /** Defaults to 1 s. */
  readonly respondWithinMs?: number;
  readonly interfaces?: typeof os.networkInterfaces;
  readonly now?: () => number;
}

/** Like `dns.lookup`, but queries may outlive the result. */
export type StartLookup = (hostname: string, options: Options, events: LookupEvents) => RunningLookup;

/** Resolves names like `dns.lookup`, but on sockets, so that hanging name servers delay no other names (docs/adr/0014-fair-shares.md). */
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
  const ipv4Names = new Ipv4OnlyNames(now);

  const refresh = (name: string): void => {
    if (now() - readAt < REREAD_AFTER_MS) return;
    readAt = now();
    try {
      config = readConfig();
      families = routedFamilies(interfaces());
      servers = servers.renewed(serverAddresses(options), name);
    } catch {
      // Reading fails, for example, if no file descriptor is free. The previous configuration stays in use.
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
    // Results arrive asynchronously, as from a name server.
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

/** Null lets c-ares choose, which is the only way to reach servers with a zone (`fe80::1%eth0`). */
function serverAddresses({ servers }: NameResolverOptions): readonly (string | null)[] {
  if (servers !== undefined) return servers;
  const found = new dns.Resolver().getServers();
  return found.length < 2 || found.some((address) => address.includes('%')) ? [null] : found;
}
