import type { LookupAddress } from 'node:dns';
import { isIP, type Socket } from 'node:net';
import { parseUrl } from '@tocsin/contracts/parse-url';
import { createAddressPolicy, createOwnAddresses, type OwnAddresses } from './address-policy.ts';
import {
  openConnection,
  withoutBrackets,
  type CreateConnection,
  type Origin,
  type Route,
} from './connection.ts';
import { createFairLookup, type LookupOwner, type OwnedLookup } from './dns/fair-lookup.ts';
import { createNameResolver, type LookupAll, type StartLookup } from './dns/name-resolver.ts';
import { allowedAddresses, EgressBlockedError } from './guarded-lookup.ts';
import { SecureContexts } from './secure-contexts.ts';

const CHECK_URL_LOOKUP_MS = 3_000;

export interface EgressOptions {
  readonly allowCidrs: readonly string[];
  /** PEM certificates of CAs to trust besides the public ones. */
  readonly extraCa?: string | null;
  readonly lookup?: LookupAll;
  readonly ownAddresses?: OwnAddresses;
  /** Time limit for a lookup by `checkUrl`. Defaults to 3 s. */
  readonly checkUrlLookupMs?: number;
}

export interface Egress {
  /**
   * Connects for an owner, whose limits apply to the lookup.
   * @param onResolved called when the lookup ends, but never for an address
   * @param route null connects to the origin of the URL
   */
  readonly connectionTo: (
    origin: Origin,
    owner: LookupOwner,
    onResolved?: () => void,
    route?: Route | null,
  ) => CreateConnection;
  /**
   * Returns why the guard would refuse this URL now, or null. This only gives users early feedback, because each connection is checked again.
   * @param account its limits apply to the lookup
   */
  checkUrl(url: string, account: string): Promise<string | null>;
}

/** Creates guarded connections for checks or webhooks. @throws TypeError if a CIDR is invalid or `extraCa` contains no valid certificate */
export function createEgress(options: EgressOptions): Egress {
  const policy = createAddressPolicy(options.allowCidrs, options.ownAddresses ?? createOwnAddresses());
  const lookup = createFairLookup(
    options.lookup === undefined ? createNameResolver() : withoutEvents(options.lookup),
  );
  const guard = { policy, lookup, secureContexts: new SecureContexts(options.extraCa ?? null) };
  const withinMs = options.checkUrlLookupMs ?? CHECK_URL_LOOKUP_MS;
  return {
    connectionTo: (origin, owner, onResolved, route) => (_options, onCreated) => {
      const opened = (socket: Socket): void => onCreated(null as never, socket);
      openConnection(origin, { guard, owner, onCreated: opened, onResolved, route });
      return undefined;
    },
    async checkUrl(text, account) {
      // The parser converts decimal, octal, hexadecimal and full-width hosts to plain addresses.
      const url = parseUrl(text);
      if (url === null) return 'not a valid URL';
      if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'the scheme must be http or https';
      const host = withoutBrackets(url.hostname);
      if (isIP(host) !== 0) {
        const reason = policy.blockedReason(host);
        return reason === null ? null : new EgressBlockedError(host, null, reason).message;
      }
      const allowed = allowedAddresses(host, await resolveInTime(host, account, lookup, withinMs), policy);
      return allowed instanceof EgressBlockedError ? allowed.message : null;
    },
  };
}

function withoutEvents(lookup: LookupAll): StartLookup {
  return (hostname, options, { onResult, onEnd }) => {
    lookup(hostname, options, (error, addresses) => {
      onResult(error, addresses);
      onEnd(true);
    });
    return { repeat: () => undefined, stop: () => onEnd(true) };
  };
}

/** Resolves to no addresses if the name does not resolve in time. */
function resolveInTime(
  host: string,
  account: string,
  lookup: OwnedLookup,
  withinMs: number,
): Promise<LookupAddress[]> {
  const owner = { account, resource: host, isRedirected: false, deadline: performance.now() + withinMs };
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, withinMs, []);
    lookup(host, { all: true }, owner, (error, addresses) => {
      clearTimeout(timer);
      resolve(error ? [] : addresses);
    });
  });
}
