import { X509Certificate } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import tls, { type SecureContext } from 'node:tls';
import { parseUrl } from '@tocsin/contracts/parse-url';
import {
  type AddressPolicy,
  createAddressPolicy,
  createOwnAddresses,
  type OwnAddresses,
} from './address-policy.ts';
import { type CreateConnection, openConnection, type Origin } from './connection.ts';
import { createFairLookup, type LookupOwner, type OwnedLookup } from './dns/fair-lookup.ts';
import { createNameResolver, type StartLookup } from './dns/name-resolver.ts';
import { blockedError, EgressBlockedError, type LookupAll, reachableAddresses } from './guarded-lookup.ts';

const CHECK_URL_LOOKUP_MS = 3_000;
/** Classic groups only: a hybrid post-quantum key, which newer OpenSSL sends by default, costs a tenth of a whole check. */
const KEY_EXCHANGE_GROUPS = 'X25519:P-256:P-384:P-521';
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

export interface EgressOptions {
  /** Ranges to open (`EGRESS_ALLOW_CIDRS`). */
  readonly allowCidrs: readonly string[];
  /** PEM of CAs to trust besides the public ones (`CHECK_CA_FILE`, `WEBHOOK_CA_FILE`); null or absent for none. */
  readonly extraCa?: string | null;
  /** Replaces the resolver of names, for tests. */
  readonly lookup?: LookupAll;
  /** Replaces the addresses of this machine's interfaces, for tests. */
  readonly ownAddresses?: OwnAddresses;
  /** How long `checkUrl` waits for a name. Default: 3 s. */
  readonly checkUrlLookupMs?: number;
}

/** The one way out to addresses that users gave (design §6). */
export interface Egress {
  /**
   * Opens the connection of a request to this origin. Every request names its owner, so that lookups that hang delay no other account.
   */
  readonly connectionTo: (origin: Origin, owner: LookupOwner) => CreateConnection;
  /**
   * Why this URL could not be reached through the guard now, as a sentence; null where it could. For telling a user at
   * once; each connection is judged again when it is opened. A name that does not resolve, or not within 3 s, is no refusal.
   * @param account on whose behalf the name is looked up
   */
  checkUrl(url: string, account: string): Promise<string | null>;
}

/**
 * Builds the guarded connections of one purpose (checks, or webhooks).
 * @throws TypeError where `allowCidrs` holds no CIDR or `extraCa` no readable certificate
 */
export function createEgress(options: EgressOptions): Egress {
  const policy = createAddressPolicy(options.allowCidrs, options.ownAddresses ?? createOwnAddresses());
  const lookup = createFairLookup({
    lookup: options.lookup === undefined ? createNameResolver() : endingWithResult(options.lookup),
  });
  const { checkUrlLookupMs = CHECK_URL_LOOKUP_MS } = options;
  const guard = { policy, lookup, secureContext: createSecureContext(options.extraCa ?? null) };
  return {
    connectionTo: (origin, owner) => () => openConnection(origin, guard, owner),
    checkUrl: (url, account) =>
      refusalOf(url, policy, (host) => resolveBriefly(host, account, lookup, checkUrlLookupMs)),
  };
}

function endingWithResult(lookup: LookupAll): StartLookup {
  return (hostname, options, { onResult, onEnd }) => {
    lookup(hostname, options, (error, addresses) => {
      onResult(error, addresses);
      onEnd(true);
    });
    return { askAgain: () => undefined, stop: () => onEnd(true) };
  };
}

function createSecureContext(extraCa: string | null): SecureContext {
  // Without `ca` Node uses its built-in store, which also has what NODE_EXTRA_CA_CERTS adds.
  if (extraCa === null) return tls.createSecureContext({ ecdhCurve: KEY_EXCHANGE_GROUPS });
  const certificates = extraCa.match(PEM_CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new TypeError('the extra CA holds no PEM certificate');
  for (const [index, pem] of certificates.entries()) {
    try {
      // OpenSSL would pass over an unreadable certificate in silence.
      void new X509Certificate(pem);
    } catch (cause) {
      throw new TypeError(`certificate ${index + 1} of the extra CA cannot be read`, { cause });
    }
  }
  return tls.createSecureContext({
    ca: [...tls.rootCertificates, ...certificates],
    ecdhCurve: KEY_EXCHANGE_GROUPS,
  });
}

async function refusalOf(
  text: string,
  policy: AddressPolicy,
  resolveName: (host: string) => Promise<LookupAddress[]>,
): Promise<string | null> {
  // The parser turns decimal, octal, hexadecimal and full-width hosts into plain addresses.
  const url = parseUrl(text);
  if (url === null) return 'not a valid URL';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'the scheme must be http or https';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) {
    const reason = policy.blockedReason(host);
    return reason === null ? null : blockedError(host, null, reason).message;
  }
  const reachable = reachableAddresses(host, await resolveName(host), policy);
  return reachable instanceof EgressBlockedError ? reachable.message : null;
}

/** All addresses of a name; none where it does not resolve in time. */
function resolveBriefly(
  host: string,
  account: string,
  lookup: OwnedLookup,
  withinMs: number,
): Promise<LookupAddress[]> {
  const owner = { account, resource: host, redirected: false, deadline: performance.now() + withinMs };
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, withinMs, []);
    lookup(host, { all: true }, owner, (error, addresses) => {
      clearTimeout(timer);
      resolve(error ? [] : addresses);
    });
  });
}
