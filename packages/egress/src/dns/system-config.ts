import type { LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import type os from 'node:os';

const DEFAULT_NDOTS = 1;
const MAX_NDOTS = 15;

export type Family = 4 | 6;

const LOOPBACK: readonly LookupAddress[] = [
  { address: '::1', family: 6 },
  { address: '127.0.0.1', family: 4 },
];

export interface NameConfig {
  readonly hosts: ReadonlyMap<string, readonly LookupAddress[]>;
  readonly search: readonly string[];
  readonly ndots: number;
}

export interface NameFiles {
  readonly hostsFile?: string;
  /** Defaults to `/etc/resolv.conf`, where c-ares finds the name servers. */
  readonly configFile?: string;
}

/** Reads each file again when it has changed. Missing and unreadable files count as empty. */
export function configReader({
  hostsFile = '/etc/hosts',
  configFile = '/etc/resolv.conf',
}: NameFiles): () => NameConfig {
  const readHosts = whenChanged(hostsFile, parseHosts);
  const readSearch = whenChanged(configFile, parseSearch);
  return () => ({ hosts: readHosts(), ...readSearch() });
}

function whenChanged<Parsed>(file: string, parse: (text: string) => Parsed): () => Parsed {
  let version = '';
  let parsed = parse('');
  return () => {
    try {
      const { mtimeMs, ino, size } = statSync(file);
      const found = `${mtimeMs} ${ino} ${size}`;
      if (found !== version) {
        parsed = parse(readFileSync(file, 'utf8'));
        version = found;
      }
    } catch {
      version = '';
      parsed = parse('');
    }
    return parsed;
  };
}

function parseHosts(text: string): NameConfig['hosts'] {
  const hosts = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*$/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names.map(normalize)) {
      const known = hosts.get(name) ?? [];
      if (!known.some((other) => other.address === address)) hosts.set(name, [...known, { address, family }]);
    }
  }
  return hosts;
}

/** Parses `search`, `domain` and `options ndots` of resolv.conf(5). The last `search` or `domain` line counts. */
function parseSearch(text: string): Pick<NameConfig, 'search' | 'ndots'> {
  let search: readonly string[] = [];
  let ndots = DEFAULT_NDOTS;
  for (const line of text.replaceAll(/[#;].*$/gm, '').split('\n')) {
    const [directive = '', ...values] = line.trim().split(/\s+/);
    if (directive === 'search') search = values;
    else if (directive === 'domain') search = values.slice(0, 1);
    else if (directive === 'options') {
      const given = values.flatMap((value) => /^ndots:(\d{1,2})$/.exec(value)?.[1] ?? [])[0];
      if (given !== undefined) ndots = Math.min(Number(given), MAX_NDOTS);
    }
  }
  return { search: search.map(normalize).filter((domain) => domain !== ''), ndots };
}

export function normalize(name: string): string {
  return name.replace(/\.$/, '').toLowerCase();
}

/** Returns addresses from the hosts file or of `localhost` (RFC 6761), or null for a name that needs a name server. */
export function localAddresses(name: string, hosts: NameConfig['hosts']): readonly LookupAddress[] | null {
  return hosts.get(name) ?? (/^(.*\.)?localhost$/.test(name) ? LOOPBACK : null);
}

/** Returns the names to query, in the order of resolv.conf(5). A name with few dots is tried in the search domains first. */
export function candidates(name: string, { search, ndots }: NameConfig): readonly string[] {
  const within = search.map((domain) => `${name}.${domain}`);
  return name.split('.').length - 1 >= ndots ? [name, ...within] : [...within, name];
}

/**
 * Returns the address families to query, in connection order. Like `AI_ADDRCONFIG`, takes those of the interfaces, or both if there are none.
 * Pods of IPv6 clusters on AWS reach IPv4 targets through a link-local IPv4 address, so only link-local IPv6 addresses are ignored. IPv4
 * comes first if all IPv6 addresses are unique local, which reach no public address.
 */
export function routedFamilies(interfaces: ReturnType<typeof os.networkInterfaces>): readonly Family[] {
  const addresses = Object.values(interfaces)
    .flatMap((all) => all ?? [])
    .filter(({ internal, address }) => !internal && !/^fe[89ab]/i.test(address));
  const isGlobal = addresses.some(({ family, address }) => family === 'IPv6' && !/^f[cd]/i.test(address));
  const order: readonly Family[] = isGlobal || addresses.length === 0 ? [6, 4] : [4, 6];
  const families = order.filter((family) => addresses.some((one) => one.family === `IPv${family}`));
  return families.length === 0 ? order : families;
}
