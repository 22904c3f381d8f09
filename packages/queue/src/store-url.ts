import { parseUrl } from '@tocsin/contracts/parse-url';
import { SettingsError } from '@tocsin/runtime/env';
import { parsePostgresUrl } from '@tocsin/runtime/postgres/address';

/** Where a queue's store is, as `QUEUE_URL` says it (design §2). */
export type StoreAddress =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'redis'; readonly url: string }
  | {
      readonly kind: 'cluster';
      readonly nodes: readonly { host: string; port: number }[];
      readonly credentials: StoreCredentials;
    }
  | {
      readonly kind: 'sentinel';
      readonly sentinels: readonly { host: string; port: number }[];
      readonly name: string;
      readonly db: number;
      /** Of the servers that the Sentinels watch. */
      readonly credentials: StoreCredentials;
      readonly sentinelCredentials: SentinelCredentials;
    };

export interface StoreCredentials {
  readonly username?: string;
  readonly password?: string;
  readonly tls: boolean;
}

/** What the Sentinels themselves ask for; empty where they ask for nothing. */
interface SentinelCredentials {
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
}

const FORMS =
  'redis://host:6379, rediss://host:6379, redis+sentinel://host:26379,host:26379/name, redis+cluster://host:6379,host:6379 or postgres://host/database';
const MANY_HOSTS =
  /^(redis|rediss)\+(sentinel|cluster):\/\/(?:(?<user>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[^/@?]+)(?:\/(?<name>[^/?]+))?(?:\/(?<db>\d+))?\/?(?:\?(?<query>.*))?$/;

/**
 * Reads a `QUEUE_URL`.
 * @param setting the name of the variable, for messages
 * @throws SettingsError that says which forms there are
 */
export function parseStoreUrl(text: string, setting = 'QUEUE_URL'): StoreAddress {
  if (/^postgres(ql)?:\/\//.test(text)) return parsePostgres(text, setting);
  if (/^rediss?:\/\//.test(text) && parseUrl(text)) return { kind: 'redis', url: text };
  const match = MANY_HOSTS.exec(text);
  if (!match?.groups) throw new SettingsError(`${setting} must be one of ${FORMS}`);
  const { user, password, hosts = '', name, db, query } = match.groups;
  const credentials: StoreCredentials = {
    tls: match[1] === 'rediss',
    ...(user && { username: decodeURIComponent(user) }),
    ...(password && { password: decodeURIComponent(password) }),
  };
  if (match[2] === 'cluster') {
    if (query !== undefined)
      throw new SettingsError(`${setting} takes no ?${SENTINEL_FIELDS[0]}= for a cluster`);
    return { kind: 'cluster', nodes: parseHosts(hosts, 6_379, setting), credentials };
  }
  if (name === undefined)
    throw new SettingsError(`${setting} needs the name of the master that the Sentinels watch: ${FORMS}`);
  return {
    kind: 'sentinel',
    sentinels: parseHosts(hosts, 26_379, setting),
    name,
    db: Number(db ?? 0),
    credentials,
    sentinelCredentials: parseSentinelCredentials(query ?? '', setting),
  };
}

function parsePostgres(text: string, setting: string): StoreAddress {
  try {
    const { hosts } = parsePostgresUrl(text);
    if (hosts.every(({ url }) => parseUrl(url))) return { kind: 'postgres', url: text };
  } catch (error) {
    if (error instanceof RangeError) throw new SettingsError(`${setting} ${error.message}`);
    throw error;
  }
  throw new SettingsError(`${setting} must be one of ${FORMS}`);
}

const SENTINEL_FIELDS = ['sentinelPassword', 'sentinelUsername'] as const;

function parseSentinelCredentials(query: string, setting: string): SentinelCredentials {
  const fields = new URLSearchParams(query);
  const unknown = [...fields.keys()].some((name) => !SENTINEL_FIELDS.some((known) => known === name));
  if (unknown)
    throw new SettingsError(`${setting} takes ${SENTINEL_FIELDS.join(' and ')} after its ?, nothing else`);
  const given = SENTINEL_FIELDS.flatMap((name) => (fields.get(name) ? [[name, fields.get(name)]] : []));
  return Object.fromEntries(given) as SentinelCredentials;
}

function parseHosts(text: string, defaultPort: number, setting: string): { host: string; port: number }[] {
  return text.split(',').map((part) => {
    const url = parseUrl(`redis://${part}`);
    // Not the part itself: of a password with a slash in it, it may be a half.
    if (!url?.hostname) throw new SettingsError(`${setting} has a part that is no host:port: ${FORMS}`);
    return { host: url.hostname.replaceAll(/^\[|\]$/g, ''), port: Number(url.port || defaultPort) };
  });
}
