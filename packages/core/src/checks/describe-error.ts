// Captures the readable part of `80AC:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../ssl3_record.c:350:`.
const OPENSSL_REASON = /error:[0-9A-F]{8}:[^:]*:[^:]*:([^:\n]+)/;
/** The first HTTP/2 frame from a server is SETTINGS or GOAWAY. */
const FIRST_FRAME_TYPES = new Set([4, 7]);
const FRAME_HEADER_BYTES = 9;
const ONLY_HTTP2 = 'server speaks only HTTP/2, which checks do not';
const CLIENT_CERTIFICATE = 'server requires a client certificate';
/** Most checks send no client certificate, so a server that complains about it requires one. */
const TLS_REASONS: readonly (readonly [RegExp, string])[] = [
  [/alert no application protocol/, ONLY_HTTP2],
  [/alert (certificate required|bad certificate)/, CLIENT_CERTIFICATE],
  [/unsafe legacy renegotiation disabled/, 'server does not support secure renegotiation'],
  [/wrong version number/, 'server does not speak TLS: this is a plain HTTP port, or no web server'],
];
/** Alerts of a server that refuses a client certificate. */
const REFUSED_CERTIFICATE =
  /alert (bad certificate|unsupported certificate|certificate \w+|unknown ca|decrypt error|access denied|handshake failure)/;
/** If a server refuses the handshake after it has sent its own certificate, it requires one from the client. */
const REFUSED_HANDSHAKE = /alert handshake failure/;
/** A server's first TLS record is an alert or a handshake message. */
const FIRST_RECORD_TYPES = new Set([21, 22]);
const TLS_MAJOR_VERSION = 3;
/** Node appends this to connection errors. */
const LOCAL_ADDRESS = / - Local \([^)]*\)$/;
const LINK_LOCAL = /^fe[89ab]/i;
/** Matches one name in Node's list of certificate names. Node quotes names with special characters. */
const CERTIFICATE_NAME = /(?:DNS|IP Address):("(?:[^"\\]|\\.)*"|[^,]+)/g;
const MAX_CERTIFICATE_NAMES = 3;
/** Descriptions omit these codes, because their words already say what the code means. */
const PLAIN_CODES = new Set([
  '',
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'EGRESS_BLOCKED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Failures of a checker, notifier or agent, not of the target. */
export const OWN_FAILURES = {
  EADDRNOTAVAIL: 'no local port is free',
  EMFILE: 'no file descriptor is free',
  ENFILE: 'no file descriptor of the machine is free',
  ENOMEM: 'no memory is free',
  ENOBUFS: 'no buffer space is free',
  agent_disconnected: 'its agent lost the connection to the gateway',
} as const;
export type OwnFailure = keyof typeof OWN_FAILURES;

/**
 * Fields of Node's errors. `hadCertificate` is true if the server had sent its certificate when the handshake failed, and
 * `offeredCertificate` if the check had a client certificate. `family` is the IP version that a lookup was limited to. `cert` is a rejected
 * certificate. `rawPacket` has the bytes that the HTTP parser failed on.
 */
const FIELDS = [
  ...(['syscall', 'reason', 'cause', 'hostname', 'host', 'address', 'port'] as const),
  ...(['hadCertificate', 'offeredCertificate', 'family', 'cert', 'rawPacket'] as const),
];

export interface RaisedError extends Readonly<Record<(typeof FIELDS)[number], unknown>> {
  readonly message: string;
  readonly code: string;
  /** The errors of an `AggregateError`. Empty for any other error. */
  readonly attempts: readonly unknown[];
}

/** Formats a duration in minutes or hours, or in days from two days on. */
export function wordsOfSpan(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return 'less than a minute';
  if (minutes < 60) return plural(minutes, 'minute');
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? plural(hours, 'hour') : plural(Math.floor(hours / 24), 'day');
}

export function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Reads fields instead of using `instanceof`, because Node's own errors may come from another realm. */
export function readError(error: unknown): RaisedError {
  const fields = Object(error) as Partial<Record<string, unknown>>;
  const { message, code, errors } = fields;
  const others = Object.fromEntries(FIELDS.map((name) => [name, fields[name]]));
  return {
    ...(others as Record<(typeof FIELDS)[number], unknown>),
    message: typeof message === 'string' ? message : '',
    code: typeof code === 'string' ? code : '',
    attempts: Array.isArray(errors) ? errors : [],
  };
}

/** Explains the error to an on-call engineer, with the code if it helps a search. @param now epoch milliseconds */
export function describeError(error: RaisedError, now: number): string {
  const { code, attempts } = error;
  if (attempts.length > 0)
    return [...new Set(attempts.map((attempt) => describeError(readError(attempt), now)))].join(', ');
  const text = wordsOf(error, now);
  return PLAIN_CODES.has(code) || text.includes(code) ? text : `${text} (${code})`;
}

function wordsOf(error: RaisedError, now: number): string {
  const { message, code, reason, rawPacket } = error;
  if (code.startsWith('HPE_')) {
    if (isHttp2Frame(rawPacket)) return ONLY_HTTP2;
    if (isTlsRecord(rawPacket)) return 'server speaks TLS on this port: the URL needs https';
    return `malformed response: ${typeof reason === 'string' ? reason : message}`;
  }
  const tlsReason = OPENSSL_REASON.exec(message)?.[1];
  if (tlsReason !== undefined) return tlsWords(tlsReason, error);
  return (
    certificateWords(error, now) ??
    lookupWords(error) ??
    connectionWords(error) ??
    (message === '' ? 'exchange failed' : message.replace(LOCAL_ADDRESS, ''))
  );
}

function tlsWords(reason: string, { hadCertificate, offeredCertificate }: RaisedError): string {
  const refusal = offeredCertificate === true ? REFUSED_CERTIFICATE.exec(reason)?.[1] : undefined;
  if (refusal !== undefined) return `server refuses the client certificate: ${refusal}`;
  if (hadCertificate === true && REFUSED_HANDSHAKE.test(reason)) return CLIENT_CERTIFICATE;
  return TLS_REASONS.find(([pattern]) => pattern.test(reason))?.[1] ?? `TLS failed: ${reason}`;
}

function certificateWords({ code, host, cert }: RaisedError, now: number): string | null {
  switch (code) {
    case 'CERT_HAS_EXPIRED': {
      const agoMs = now - dateIn(cert, 'valid_to');
      // If this certificate is still valid, another one in the chain has expired.
      return agoMs >= 0 ? `certificate expired ${wordsOfSpan(agoMs)} ago` : 'certificate chain has expired';
    }
    case 'CERT_NOT_YET_VALID': {
      const inMs = dateIn(cert, 'valid_from') - now;
      return inMs > 0
        ? `certificate is not valid yet, it becomes valid in ${wordsOfSpan(inMs)}`
        : 'certificate is not valid yet';
    }
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return 'certificate is self-signed';
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return 'certificate is signed by an unknown authority';
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return 'certificate is signed by an unknown authority, or an intermediate certificate is missing';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return typeof host === 'string' ? `certificate is not valid for ${host}${namesIn(cert, host)}` : null;
    default:
      return null;
  }
}

/** @returns epoch milliseconds, or NaN if the certificate is unknown */
function dateIn(certificate: unknown, field: 'valid_from' | 'valid_to'): number {
  return Date.parse(String((Object(certificate) as Partial<Record<string, unknown>>)[field]));
}

/** Lists the certificate's names, and explains a wildcard for a top-level domain, which looks like a match but never counts. */
function namesIn(certificate: unknown, host: string): string {
  const { subjectaltname } = Object(certificate) as { readonly subjectaltname?: unknown };
  if (typeof subjectaltname !== 'string') return '';
  const names = [...subjectaltname.matchAll(CERTIFICATE_NAME)].map(([, name = '']) => name);
  const more = names.length - MAX_CERTIFICATE_NAMES;
  const listed = names.slice(0, MAX_CERTIFICATE_NAMES).join(', ');
  const wildcard = `*.${host.split('.').slice(1).join('.')}`;
  const isTooWide = wildcard.split('.').length === 2 && names.includes(wildcard);
  const note = isTooWide ? `; the wildcard ${wildcard} is too wide to count` : '';
  return ` (it is for ${listed}${more > 0 ? ` and ${more} more` : ''}${note})`;
}

function lookupWords({ code, syscall, hostname, family }: RaisedError): string | null {
  const name = typeof hostname === 'string' ? hostname : null;
  const named = name === null ? 'name' : `name ${name}`;
  switch (code) {
    case 'ENOTFOUND':
      return typeof family === 'number'
        ? `${name ?? 'the name'} has no IPv${family} address`
        : `${named} does not exist`;
    case 'ENODATA':
    case 'EAI_NODATA':
      return `${named} has no address`;
    case 'EBADNAME':
      return `${named} is not valid`;
    case 'ETIMEOUT':
      return 'name lookup timed out';
    case 'ESERVFAIL':
    case 'EREFUSED':
    case 'EAI_AGAIN':
      return `name servers could not resolve ${name ?? 'the name'}`;
    default:
      return syscall === 'getaddrinfo' ? `lookup of ${name ?? 'the name'} failed` : null;
  }
}

function connectionWords({ message, code, address, port }: RaisedError): string | null {
  const peer =
    typeof address === 'string' ? ` ${address.includes(':') ? `[${address}]` : address}:${String(port)}` : '';
  switch (code) {
    case 'ECONNREFUSED':
      return peer === '' ? 'connection refused' : `connection refused by${peer}`;
    case 'ETIMEDOUT':
    case 'ERR_SOCKET_CONNECTION_TIMEOUT':
      return peer === '' ? 'connection timed out' : `connection to${peer} timed out`;
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return peer === '' ? 'no route to the host' : `no route to${peer}`;
    case 'EINVAL':
      return typeof address === 'string' && LINK_LOCAL.test(address)
        ? `link-local address ${address} needs a network interface, which a URL cannot name`
        : null;
    case 'ECONNRESET':
      if (message === 'socket hang up') return 'connection closed before a response arrived';
      return message.includes('before secure TLS')
        ? 'connection closed in the TLS handshake'
        : 'connection reset';
    case 'EADDRNOTAVAIL':
      return peer === '' ? OWN_FAILURES[code] : `no local port or address to connect to${peer} from`;
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
    case 'ENOBUFS':
      return OWN_FAILURES[code];
    case 'EPIPE':
      return 'connection closed while the request was sent';
    default:
      return null;
  }
}

function isTlsRecord(bytes: unknown): boolean {
  if (!ArrayBuffer.isView(bytes) || bytes.byteLength < 2) return false;
  const record = new DataView(bytes.buffer, bytes.byteOffset);
  return FIRST_RECORD_TYPES.has(record.getUint8(0)) && record.getUint8(1) === TLS_MAJOR_VERSION;
}

/** Recognizes a connection frame header: three length bytes, type, flags and stream 0 (RFC 9113). */
function isHttp2Frame(bytes: unknown): boolean {
  if (!ArrayBuffer.isView(bytes) || bytes.byteLength < FRAME_HEADER_BYTES) return false;
  const frame = new DataView(bytes.buffer, bytes.byteOffset);
  return frame.getUint8(0) === 0 && FIRST_FRAME_TYPES.has(frame.getUint8(3)) && frame.getUint32(5) === 0;
}
