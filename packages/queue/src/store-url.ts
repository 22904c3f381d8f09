import { parseUrl } from '@tocsin/contracts/parse-url';
import { SettingsError } from '@tocsin/runtime/env';

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
      readonly credentials: StoreCredentials;
    };

export interface StoreCredentials {
  readonly username?: string;
  readonly password?: string;
  readonly tls: boolean;
}

const FORMS =
  'redis://host:6379, rediss://host:6379, redis+sentinel://host:26379,host:26379/name, redis+cluster://host:6379,host:6379 or postgres://host/database';
const MANY_HOSTS =
  /^(redis|rediss)\+(sentinel|cluster):\/\/(?:(?<user>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[^/@]+)(?:\/(?<name>[^/]+))?(?:\/(?<db>\d+))?\/?$/;

/** Reads a `QUEUE_URL`. @throws SettingsError that says which forms there are */
export function parseStoreUrl(text: string): StoreAddress {
  if (/^postgres(ql)?:\/\//.test(text) && parseUrl(text)) return { kind: 'postgres', url: text };
  if (/^rediss?:\/\//.test(text) && parseUrl(text)) return { kind: 'redis', url: text };
  const match = MANY_HOSTS.exec(text);
  if (!match?.groups) throw new SettingsError(`QUEUE_URL must be one of ${FORMS}`);
  const { user, password, hosts = '', name, db } = match.groups;
  const credentials: StoreCredentials = {
    tls: match[1] === 'rediss',
    ...(user && { username: decodeURIComponent(user) }),
    ...(password && { password: decodeURIComponent(password) }),
  };
  if (match[2] === 'cluster') return { kind: 'cluster', nodes: parseHosts(hosts, 6_379), credentials };
  if (name === undefined)
    throw new SettingsError(`QUEUE_URL needs the name of the master that the Sentinels watch: ${FORMS}`);
  return {
    kind: 'sentinel',
    sentinels: parseHosts(hosts, 26_379),
    name,
    db: Number(db ?? 0),
    credentials,
  };
}

function parseHosts(text: string, defaultPort: number): { host: string; port: number }[] {
  return text.split(',').map((part) => {
    const url = parseUrl(`redis://${part}`);
    // Not the part itself: of a password with a slash in it, it may be a half.
    if (!url?.hostname) throw new SettingsError(`QUEUE_URL has a part that is no host:port: ${FORMS}`);
    return { host: url.hostname.replaceAll(/^\[|\]$/g, ''), port: Number(url.port || defaultPort) };
  });
}
