import type { LookupAddress, LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { AddressPolicy } from './address-policy.ts';
import type { LookupOwner, OwnedLookup } from './dns/fair-lookup.ts';

/** A connection that the egress guard refused (design §6); its message says which address and how to allow it. */
export class EgressBlockedError extends Error {
  override readonly name = 'EgressBlockedError';
  readonly code = 'EGRESS_BLOCKED';
}

/** `dns.lookup` as the guard calls it: always for all addresses of a name. */
export type LookupAll = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The error of a connection to an address that the policy blocks; `host` is the name it belongs to, null for a literal. */
export function blockedError(address: string, host: string | null, reason: string): EgressBlockedError {
  const owner = host === null ? '' : ` of ${host}`;
  return new EgressBlockedError(`address ${address}${owner} is ${reason}; allow it with EGRESS_ALLOW_CIDRS`);
}

/** Of a name's addresses those that may be reached, or the error where there are none. */
export function reachableAddresses(
  hostname: string,
  addresses: readonly LookupAddress[],
  policy: AddressPolicy,
): LookupAddress[] | EgressBlockedError {
  let blocked: EgressBlockedError | null = null;
  const reachable = addresses.filter(({ address }) => {
    const reason = policy.blockedReason(address);
    if (reason !== null) blocked ??= blockedError(address, hostname, reason);
    return reason === null;
  });
  return reachable.length === 0 && blocked !== null ? blocked : reachable;
}

/**
 * A `lookup` for `net.connect` that hands on only addresses the policy allows (design §6). The addresses that were
 * judged are the very ones connected to, so a name that changes its mind between two queries gains nothing.
 */
export function createGuardedLookup(
  lookup: OwnedLookup,
  policy: AddressPolicy,
  owner: LookupOwner,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, owner, (error, addresses) => {
      if (error) return callback(error, []);
      const reachable = orError(() => reachableAddresses(hostname, addresses, policy));
      if (reachable instanceof Error) return callback(reachable, []);
      const [first] = reachable;
      if (first === undefined) return callback(noAddresses(hostname), []);
      if (options.all === true) return callback(null, reachable);
      return callback(null, first.address, first.family);
    });
  };
}

/** An exception in the callback of a resolver would end the process. */
function orError<Value>(work: () => Value): Value | Error {
  try {
    return work();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function noAddresses(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), {
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
  });
}
