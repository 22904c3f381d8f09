import { parseUrl } from '@tocsin/contracts/parse-url';
import { SettingsError } from '@tocsin/runtime/env';
import { parsePostgresUrl } from '@tocsin/runtime/postgres/address';
import type { RedisOptions } from 'ioredis';

interface HostPort {
  readonly host: string;
  readonly port: number;
}

type LoginOptions = Omit<RedisOptions, 'replyMapping'>;

export type StoreAddress = { readonly kind: 'postgres'; readonly url: string } | RedisAddress;

export type RedisAddress =
  | { readonly kind: 'redis'; readonly url: string }
  | { readonly kind: 'cluster'; readonly nodes: readonly HostPort[]; readonly options: LoginOptions }
  | { readonly kind: 'sentinel'; readonly sentinels: readonly HostPort[]; readonly options: LoginOptions };

const FORMS =
  'redis://host:6379, rediss://host:6379, redis+sentinel://host:26379,host:26379/name, redis+cluster://host:6379,host:6379 or postgres://host/database';
const MANY_HOSTS =
  /^(redis|rediss)\+(sentinel|cluster):\/\/(?:(?<user>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[^/@?]+)(?:\/(?<name>[^/?]+))?(?:\/(?<db>\d+))?\/?(?:\?(?<query>.*))?$/;
const SENTINEL_FIELDS: readonly string[] = ['sentinelPassword', 'sentinelUsername'];

/** Parses a `QUEUE_URL`. @throws SettingsError with the valid forms, but without the URL, which may contain a password */
export function parseStoreUrl(text: string): StoreAddress {
  if (/^postgres(ql)?:\/\//.test(text)) return parsePostgres(text);
  if (/^rediss?:\/\//.test(text) && parseUrl(text)) return { kind: 'redis', url: text };
  const match = MANY_HOSTS.exec(text);
  if (!match?.groups) throw new SettingsError(`QUEUE_URL must be one of ${FORMS}`);
  const { user, password, hosts = '', name, db, query } = match.groups;
  const isTls = match[1] === 'rediss';
  const login: LoginOptions = {
    ...(user && { username: decodeURIComponent(user) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(isTls && { tls: {} }),
  };
  if (match[2] === 'cluster') {
    if (query !== undefined)
      throw new SettingsError(`QUEUE_URL takes no ?${SENTINEL_FIELDS[0]}= for a cluster`);
    return { kind: 'cluster', nodes: parseHosts(hosts, 6_379), options: login };
  }
  if (name === undefined)
    throw new SettingsError(`QUEUE_URL needs the name of the master that the Sentinels watch: ${FORMS}`);
  const options: LoginOptions = {
    ...login,
    // Without these, ioredis uses TLS neither to the Sentinels nor to the servers.
    ...(isTls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
    ...parseSentinelLogin(query ?? ''),
    name,
    db: Number(db ?? 0),
  };
  return { kind: 'sentinel', sentinels: parseHosts(hosts, 26_379), options };
}

function parsePostgres(text: string): StoreAddress {
  try {
    const { hosts } = parsePostgresUrl(text);
    if (hosts.every(({ url }) => parseUrl(url))) return { kind: 'postgres', url: text };
  } catch (error) {
    if (error instanceof RangeError) throw new SettingsError(`QUEUE_URL ${error.message}`);
    throw error;
  }
  throw new SettingsError(`QUEUE_URL must be one of ${FORMS}`);
}

function parseSentinelLogin(query: string): LoginOptions {
  const fields = [...new URLSearchParams(query)];
  if (fields.some(([name]) => !SENTINEL_FIELDS.includes(name)))
    throw new SettingsError(`QUEUE_URL takes only ${SENTINEL_FIELDS.join(' and ')} after its ?`);
  return Object.fromEntries(fields.filter(([, value]) => value !== ''));
}

function parseHosts(text: string, defaultPort: number): HostPort[] {
  return text.split(',').map((part) => {
    const url = parseUrl(`redis://${part}`);
    if (!url?.hostname) throw new SettingsError(`QUEUE_URL has a part that is not host:port: ${FORMS}`);
    return { host: url.hostname.replaceAll(/^\[|\]$/g, ''), port: Number(url.port || defaultPort) };
  });
}
