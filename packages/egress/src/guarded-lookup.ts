import dns, { type LookupAddress } from 'node:dns';
import type { AddressPolicy } from './address-policy.ts';
import type { LookupOwner, OwnedLookup } from './dns/fair-lookup.ts';
import { lookupError } from './dns/name-lookup.ts';

/** A connection that the guard refused. The message names the address and the setting that allows it. */
export class EgressBlockedError extends Error {
  override readonly name = 'EgressBlockedError';
  readonly code = 'EGRESS_BLOCKED';

  /** @param host the name of the address; null for a literal */
  constructor(address: string, host: string | null, reason: string) {
    const owner = host === null ? '' : ` of ${host}`;
    super(`address ${address}${owner} is ${reason}; allow it with EGRESS_ALLOW_CIDRS`);
  }
}

/** The allowed addresses of a name, or the error if all of them are blocked. */
export function allowedAddresses(
  hostname: string,
  addresses: readonly LookupAddress[],
  policy: AddressPolicy,
): LookupAddress[] | EgressBlockedError {
  let blocked: EgressBlockedError | null = null;
  const allowed = addresses.filter(({ address }) => {
    const reason = policy.blockedReason(address);
    if (reason !== null) blocked ??= new EgressBlockedError(address, hostname, reason);
    return reason === null;
  });
  return allowed.length === 0 && blocked !== null ? blocked : allowed;
}

/** As Node looks names up for connections: without IPv6 addresses if this machine has no IPv6 network. */
const LOOKUP_OPTIONS = { all: true, hints: dns.ADDRCONFIG } as const;

/**
 * Looks up the addresses to connect to: at least one, or an error. The connection uses these very addresses, so a name that resolves
 * differently later gains nothing.
 */
export function lookupAllowed(
  hostname: string,
  { lookup, policy }: { readonly lookup: OwnedLookup; readonly policy: AddressPolicy },
  owner: LookupOwner,
  callback: (addresses: readonly LookupAddress[] | Error) => void,
): void {
  lookup(hostname, LOOKUP_OPTIONS, owner, (error, addresses) => {
    if (error) return callback(error);
    let allowed: LookupAddress[] | Error;
    try {
      allowed = allowedAddresses(hostname, addresses, policy);
    } catch (cause) {
      // Thrown in the callback of a resolver, it would end the process.
      allowed = cause as Error;
    }
    const isEmpty = Array.isArray(allowed) && allowed.length === 0;
    callback(isEmpty ? lookupError('ENOTFOUND', hostname) : allowed);
  });
}
