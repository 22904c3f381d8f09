import dns, { type LookupAddress } from 'node:dns';
import type { AddressPolicy } from './address-policy.ts';
import type { LookupOwner, OwnedLookup } from './dns/fair-lookup.ts';
import { lookupError } from './dns/name-lookup.ts';

/** The guard refused a connection. The message names the address and the setting that allows it. */
export class EgressBlockedError extends Error {
  override readonly name = 'EgressBlockedError';
  readonly code = 'EGRESS_BLOCKED';

  /** @param host the name that resolved to the address, or null for a literal */
  constructor(address: string, host: string | null, reason: string) {
    const owner = host === null ? '' : ` of ${host}`;
    super(`address ${address}${owner} is ${reason}; allow it with EGRESS_ALLOW_CIDRS`);
  }
}

/** Returns the allowed addresses of a name, or the error if all are blocked. */
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

/** Like Node, skips IPv6 addresses on a machine without an IPv6 network. */
const LOOKUP_OPTIONS = { all: true, hints: dns.ADDRCONFIG } as const;
const FAMILY_OPTIONS = { 4: { all: true, family: 4 }, 6: { all: true, family: 6 } } as const;

/** Looks up addresses of a family, or of any, to connect to. The connection uses exactly these, so a name that resolves differently later gains nothing. */
export function lookupAllowed(
  hostname: string,
  family: 4 | 6 | null,
  { lookup, policy }: { readonly lookup: OwnedLookup; readonly policy: AddressPolicy },
  owner: LookupOwner,
  callback: (addresses: readonly LookupAddress[] | Error) => void,
): void {
  const options = family === null ? LOOKUP_OPTIONS : FAMILY_OPTIONS[family];
  // The name may have addresses of the other family.
  const marked = <Failure extends Error>(error: Failure): Failure =>
    family === null ? error : Object.assign(error, { family });
  lookup(hostname, options, owner, (error, addresses) => {
    if (error) return callback(marked(error));
    let allowed: LookupAddress[] | Error;
    try {
      allowed = allowedAddresses(hostname, addresses, policy);
    } catch (cause) {
      // An exception in a resolver's callback would end the process.
      allowed = cause as Error;
    }
    const isEmpty = Array.isArray(allowed) && allowed.length === 0;
    callback(isEmpty ? marked(lookupError('ENOTFOUND', hostname)) : allowed);
  });
}
