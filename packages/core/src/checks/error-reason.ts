import type { NAMED_ERROR_REASONS } from '@tocsin/contracts/vocabulary';
import {
  describeError,
  OWN_FAILURES,
  type OwnFailure,
  type RaisedError,
  readError,
} from './describe-error.ts';

const MAX_DETAIL_CHARACTERS = 500;
// Codes of getaddrinfo and c-ares. The EAI_* codes are matched by their prefix.
const DNS_CODES = new Set([
  'ENOTFOUND',
  'ENODATA',
  'ESERVFAIL',
  'EFORMERR',
  'ENOTIMP',
  'EREFUSED',
  'EBADQUERY',
  'EBADNAME',
  'EBADFAMILY',
  'EBADRESP',
  'ETIMEOUT',
]);
const TIMEOUT_CODES = new Set(['ETIMEDOUT', 'ESOCKETTIMEDOUT', 'ERR_SOCKET_CONNECTION_TIMEOUT']);
// Control characters, line and paragraph separators, direction overrides, and lone surrogates.
const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\p{Surrogate}]+/gu;

type NamedErrorReason = (typeof NAMED_ERROR_REASONS)[number];

/** Reason for a failed exchange, with a sanitized detail of at most 500 characters. */
export interface Failure {
  readonly errorReason: NamedErrorReason;
  readonly errorDetail: string;
}

/** Classifies a Node error. In an `AggregateError` a refused connection wins, because that host responded. */
export function classifyError(error: unknown, now: Date = new Date()): Failure {
  const raised = readError(error);
  return { errorReason: reasonOf(raised), errorDetail: sanitiseDetail(describeError(raised, now.getTime())) };
}

/**
 * Returns a failure of this process, which says nothing about the target, or null. It may be in any of several attempts.
 * @param hasSourceFor reports whether this machine has a source address for the destination. Without one, `EADDRNOTAVAIL` does not mean that
 * the ports are used up
 */
export function ownFailureOf(error: unknown, hasSourceFor: (address: string) => boolean): OwnFailure | null {
  const { code, attempts, cause, address } = readError(error);
  const nested = attempts.length > 0 ? attempts : cause === undefined ? [] : [cause];
  for (const one of nested) {
    const failure = ownFailureOf(one, hasSourceFor);
    if (failure !== null) return failure;
  }
  if (attempts.length > 0 || !isOwnFailure(code)) return null;
  return code === 'EADDRNOTAVAIL' && typeof address === 'string' && !hasSourceFor(address) ? null : code;
}

function isOwnFailure(code: string): code is OwnFailure {
  return Object.hasOwn(OWN_FAILURES, code);
}

/** Makes untrusted text safe to store and show. Replaces each run of control characters and lone surrogates, and keeps 500 characters. */
export function sanitiseDetail(text: string): string {
  // Twice the limit leaves room for removed characters.
  const clean = text
    .slice(0, 2 * MAX_DETAIL_CHARACTERS)
    .replace(UNSAFE, ' ')
    .trim();
  if (clean.length <= MAX_DETAIL_CHARACTERS) return clean;
  // The cut may split a surrogate pair.
  return `${clean.slice(0, MAX_DETAIL_CHARACTERS - 1).replace(UNSAFE, '')}…`;
}

function reasonOf({ code, syscall, attempts }: RaisedError): NamedErrorReason {
  if (attempts.length > 0) {
    const reasons = new Set(attempts.map((attempt) => reasonOf(readError(attempt))));
    const ranked = ['CONNECTION_REFUSED', 'TIMEOUT', 'DNS_ERROR'] as const;
    return ranked.find((reason) => reasons.has(reason)) ?? 'UNKNOWN_ERROR';
  }
  if (code === 'ECONNREFUSED') return 'CONNECTION_REFUSED';
  if (TIMEOUT_CODES.has(code)) return 'TIMEOUT';
  if (code.startsWith('EAI_') || DNS_CODES.has(code) || syscall === 'getaddrinfo') return 'DNS_ERROR';
  return 'UNKNOWN_ERROR';
}
