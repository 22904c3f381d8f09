import { isIP } from 'node:net';
import os from 'node:os';
import { OWN_FAILURES, type OwnFailure } from '@tocsin/core/checks/describe-error';
import { type Failure, ownFailureOf } from '@tocsin/core/checks/error-reason';

const LINK_LOCAL = /^fe[89ab]/i;

/** Returns what this process lacked when the request failed, or null. */
export function findOwnFailure(error: unknown): OwnFailure | null {
  return ownFailureOf(error, hasSourceFor);
}

export function describeOwnFailure(code: OwnFailure): Failure {
  const words = `the checker itself failed, which says nothing about the target: ${OWN_FAILURES[code]} (${code})`;
  return { errorReason: 'UNKNOWN_ERROR', errorDetail: words };
}

/** Reports whether this machine has an address to connect from. Linux reports a missing IPv6 address like a missing local port. */
export function hasSourceFor(address: string, interfaces = os.networkInterfaces): boolean {
  if (isIP(address) !== 6) return true;
  try {
    const all = Object.values(interfaces()).flatMap((addresses) => addresses ?? []);
    const own = all.filter(({ family, address: one }) => family === 'IPv6' && !LINK_LOCAL.test(one));
    return own.some(({ internal }) => internal === (address === '::1'));
  } catch {
    // The interfaces cannot be read, for example because no file descriptor is free.
    return true;
  }
}
