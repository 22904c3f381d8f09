import type { NAMED_ERROR_REASONS } from '@tocsin/contracts/vocabulary';

const MAX_DETAIL_CHARACTERS = 500;
// Codes of getaddrinfo and c-ares; the EAI_* codes of getaddrinfo are matched by their prefix.
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
// The readable part of `80AC:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../ssl3_record.c:350:`.
const OPENSSL_REASON = /error:[0-9A-F]{8}:[^:]*:[^:]*:([^:\n]+)/;
/** OpenSSL's message if the server supports none of the offered protocols. */
const NO_COMMON_PROTOCOL = /alert no application protocol/;
/** The types that the first HTTP/2 frame from a server may have: SETTINGS or GOAWAY. */
const FIRST_FRAME_TYPES = new Set([4, 7]);
const FRAME_HEADER_BYTES = 9;
const ONLY_HTTP2 = 'the server speaks only HTTP/2, which checks do not';
// Control characters, line and paragraph separators, direction overrides, and lone surrogates.
const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\p{Surrogate}]+/gu;

type NamedErrorReason = (typeof NAMED_ERROR_REASONS)[number];

/** Why an exchange failed, with the cause in words (sanitised, at most 500 characters). */
export interface Failure {
  readonly errorReason: NamedErrorReason;
  readonly errorDetail: string;
}

/** Fields of Node's errors. */
interface RaisedError {
  readonly message: string;
  readonly code: string;
  readonly syscall: unknown;
  readonly reason: unknown;
  /** The bytes that Node's HTTP parser was reading when it failed. */
  readonly rawPacket: unknown;
  /** The errors of an `AggregateError`; empty for any other error. */
  readonly attempts: readonly unknown[];
}

/** Classifies a Node error. Among several connection attempts (an `AggregateError`), a refusal wins, because that host did respond. */
export function classifyError(error: unknown): Failure {
  const raised = readError(error);
  return { errorReason: reasonOf(raised), errorDetail: sanitiseDetail(describe(raised)) };
}

/** Makes untrusted text safe to store and show: a space for each run of control characters and lone surrogates, at most 500 characters. */
export function sanitiseDetail(text: string): string {
  // Searches only twice the limit, which leaves room for removed characters.
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

function describe(error: RaisedError): string {
  const { code, attempts } = error;
  if (attempts.length > 0) {
    return [...new Set(attempts.map((attempt) => describe(readError(attempt))))].join(', ');
  }
  const text = wordsOf(error);
  return code === '' || code === 'EGRESS_BLOCKED' || text.includes(code) ? text : `${text} (${code})`;
}

function wordsOf({ message, code, syscall, reason, rawPacket }: RaisedError): string {
  if (code.startsWith('HPE_')) {
    if (isHttp2Frame(rawPacket)) return ONLY_HTTP2;
    return `malformed response: ${typeof reason === 'string' ? reason : message}`;
  }
  const tlsReason = OPENSSL_REASON.exec(message)?.[1];
  if (tlsReason !== undefined)
    return NO_COMMON_PROTOCOL.test(tlsReason) ? ONLY_HTTP2 : `TLS failed: ${tlsReason}`;
  if (message === 'socket hang up') return 'the connection was closed before a response arrived';
  if (code === 'ECONNRESET' && syscall === 'read') return 'the connection was reset';
  return message === '' ? 'the exchange failed' : message;
}

/** A frame header of the connection: three bytes of length, type, flags, and stream 0 (RFC 9113). */
function isHttp2Frame(bytes: unknown): boolean {
  if (!ArrayBuffer.isView(bytes) || bytes.byteLength < FRAME_HEADER_BYTES) return false;
  const frame = new DataView(bytes.buffer, bytes.byteOffset);
  return frame.getUint8(0) === 0 && FIRST_FRAME_TYPES.has(frame.getUint8(3)) && frame.getUint32(5) === 0;
}

/** Reads fields instead of using `instanceof`, because Node's own errors may come from another realm. */
function readError(error: unknown): RaisedError {
  const fields: object = typeof error === 'object' && error !== null ? error : {};
  const { message, code, syscall, reason, rawPacket, errors } = fields as Partial<Record<string, unknown>>;
  return {
    message: typeof message === 'string' ? message : '',
    code: typeof code === 'string' ? code : '',
    syscall,
    reason,
    rawPacket,
    attempts: Array.isArray(errors) ? errors : [],
  };
}
