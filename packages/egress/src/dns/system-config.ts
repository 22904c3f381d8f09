import type { LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import type os from 'node:os';

const DEFAULT_NDOTS = 1;
const MAX_NDOTS = 15;

export type Family = 4 | 6;

/** What the system says about names, apart from its name servers. */
export interface NameConfig {
  readonly hosts: ReadonlyMap<string, readonly LookupAddress[]>;
  readonly search: readonly string[];
  readonly ndots: number;
}

export interface NameFiles {
  /** Default: `/etc/hosts`. */
  readonly hostsFile?: string;
  /** Default: `/etc/resolv.conf`. c-ares reads its name servers. */
  readonly configFile?: string;
}

/** Reads both files, each again only after it was changed. A file that is not there or cannot be read is empty. */
export function configReader({
  hostsFile = '/etc/hosts',
  configFile = '/etc/resolv.conf',
}: NameFiles): () => NameConfig {
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
export function localAddresses(name: string, hosts: NameConfig['hosts']): readonly LookupAddress[] | null {
  const known = hosts.get(name);
  if (known !== undefined) return known;
  if (name !== 'localhost' && !name.endsWith('.localhost')) return null;
  return [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ];
}

/** The names to ask for, in the order of resolv.conf(5): one with few dots is tried within the search domains first. */
export function candidates(name: string, { search, ndots }: NameConfig): readonly string[] {
  const within = search.map((domain) => `${name}.${domain}`);
  return name.split('.').length - 1 >= ndots ? [name, ...within] : [...within, name];
}

/**
 * The families to ask for, in the order to connect in: those that an interface has an address of, as with `AI_ADDRCONFIG`. Link-local
 * IPv6 addresses do not count: no name is reached over them. Link-local IPv4 addresses do: pods of IPv6 clusters on AWS reach IPv4
 * targets through one. If no address counts, both families. IPv6 comes first, unless all IPv6 addresses are unique local ones: those
 * reach no public address.
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

function isFamily(address: string): Family | null {
  const family = isIP(address);
  return family === 0 ? null : (family as Family);
}
