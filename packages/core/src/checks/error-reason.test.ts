import { describe, expect, test } from '@jest/globals';
import { fc } from '../testing/fast-check.ts';
import { classifyError, sanitiseDetail } from './error-reason.ts';

type Fields = Readonly<Record<string, unknown>>;

function raised(message: string, code: string, fields: Fields = {}): Error {
  return Object.assign(new Error(message), { code, ...fields });
}

function connectError(code: string, address: string): Error {
  return raised(`connect ${code} ${address}:443`, code, { syscall: 'connect', address, port: 443 });
}

const NOW = new Date('2026-11-20T12:00:00.000Z');
const refused = connectError('ECONNREFUSED', '127.0.0.1');
const refused6 = connectError('ECONNREFUSED', '::1');
const unreachable = connectError('ENETUNREACH', '::1');
const timedOut = connectError('ETIMEDOUT', '192.0.2.1');
const reset = raised('read ECONNRESET', 'ECONNRESET', { syscall: 'read' });

describe('the reason', () => {
  test.each([
    ['ENOTFOUND', 'DNS_ERROR'],
    ['EAI_AGAIN', 'DNS_ERROR'],
    ['EAI_NODATA', 'DNS_ERROR'],
    ['ENODATA', 'DNS_ERROR'],
    ['ESERVFAIL', 'DNS_ERROR'],
    ['ETIMEOUT', 'DNS_ERROR'],
    ['ECONNREFUSED', 'CONNECTION_REFUSED'],
    ['ETIMEDOUT', 'TIMEOUT'],
    ['ERR_SOCKET_CONNECTION_TIMEOUT', 'TIMEOUT'],
    ['ECONNRESET', 'UNKNOWN_ERROR'],
    ['ENETUNREACH', 'UNKNOWN_ERROR'],
    ['CERT_HAS_EXPIRED', 'UNKNOWN_ERROR'],
    ['EGRESS_BLOCKED', 'UNKNOWN_ERROR'],
  ])('of %s is %s', (code, reason) => {
    expect(classifyError(raised('cause', code)).errorReason).toBe(reason);
  });

  test.each([
    ['all were refused', [refused6, refused], 'CONNECTION_REFUSED'],
    ['no IPv6 here, IPv4 was refused', [unreachable, refused], 'CONNECTION_REFUSED'],
    ['one got no response, one was refused', [timedOut, refused], 'CONNECTION_REFUSED'],
    ['no IPv6 here, IPv4 got no response', [unreachable, timedOut], 'TIMEOUT'],
    ['all were unreachable', [unreachable, unreachable], 'UNKNOWN_ERROR'],
    ['one was reset', [reset, unreachable], 'UNKNOWN_ERROR'],
    ['none', [], 'UNKNOWN_ERROR'],
    ['nested', [new AggregateError([refused])], 'CONNECTION_REFUSED'],
  ])('of several attempts to connect: %s', (_name, errors, reason) => {
    expect(classifyError(new AggregateError(errors)).errorReason).toBe(reason);
  });
});

const OPENSSL = '80AC:error:0A00010B:SSL routines:ssl3_get_record';
const http2Frame = (...bytes: number[]): Buffer => Buffer.from([0, 0, 18, ...bytes]);
const malformed = (fields: Fields): Error =>
  raised('Parse Error: Expected HTTP/', 'HPE_INVALID_CONSTANT', fields);
const MALFORMED = 'malformed response: Expected HTTP/ (HPE_INVALID_CONSTANT)';
const PLAIN_PORT = 'server does not speak TLS: this is a plain HTTP port, or no web server';
const TLS_PORT = 'server speaks TLS on this port: the URL needs https';
const CLIENT_CERTIFICATE = 'server requires a client certificate';
const REFUSED_CERTIFICATE = 'server refuses the client certificate';
const ONLY_HTTP2 = 'server speaks only HTTP/2, which checks do not';

describe('the description', () => {
  test.each<[unknown, string]>([
    [
      new AggregateError([refused6, refused, refused]),
      'connection refused by [::1]:443, connection refused by 127.0.0.1:443',
    ],
    [malformed({ reason: 'Expected HTTP/' }), MALFORMED],
    [malformed({}), 'malformed response: Parse Error: Expected HTTP/ (HPE_INVALID_CONSTANT)'],
    [malformed({ rawPacket: http2Frame(4, 0, 0, 0, 0, 0, 1, 2, 3) }), `${ONLY_HTTP2} (HPE_INVALID_CONSTANT)`],
    [malformed({ rawPacket: http2Frame(7, 0, 0, 0, 0, 0) }), `${ONLY_HTTP2} (HPE_INVALID_CONSTANT)`],
    [malformed({ reason: 'Expected HTTP/', rawPacket: http2Frame(4, 0, 0, 0, 0) }), MALFORMED],
    [malformed({ reason: 'Expected HTTP/', rawPacket: http2Frame(4, 0, 0, 0, 0, 1) }), MALFORMED],
    [malformed({ reason: 'Expected HTTP/', rawPacket: http2Frame(5, 0, 0, 0, 0, 0) }), MALFORMED],
    [
      raised(`${OPENSSL}:wrong version number:../ssl3_record.c:355:\n`, 'ERR_SSL_WRONG_VERSION_NUMBER'),
      `${PLAIN_PORT} (ERR_SSL_WRONG_VERSION_NUMBER)`,
    ],
    [
      raised(`write EPROTO ${OPENSSL}:unsupported protocol:a.c:3:`, 'EPROTO'),
      'TLS failed: unsupported protocol (EPROTO)',
    ],
    [raised(`${OPENSSL}:sslv3 alert bad certificate:a.c:1:`, 'EPROTO'), `${CLIENT_CERTIFICATE} (EPROTO)`],
    [
      raised(`${OPENSSL}:tlsv1 alert unknown ca:a.c:1:`, 'EPROTO', { offeredCertificate: true }),
      `${REFUSED_CERTIFICATE}: unknown ca (EPROTO)`,
    ],
    [
      raised(`${OPENSSL}:sslv3 alert certificate expired:a.c:1:`, 'EPROTO', { offeredCertificate: true }),
      `${REFUSED_CERTIFICATE}: certificate expired (EPROTO)`,
    ],
    [
      raised(`${OPENSSL}:tlsv1 alert unknown ca:a.c:1:`, 'EPROTO', { offeredCertificate: false }),
      'TLS failed: tlsv1 alert unknown ca (EPROTO)',
    ],
    [
      raised('getaddrinfo ENOTFOUND a.example', 'ENOTFOUND', { hostname: 'a.example', family: 6 }),
      'a.example has no IPv6 address (ENOTFOUND)',
    ],
    [malformed({ rawPacket: Buffer.from([21, 3, 1, 0, 2]) }), `${TLS_PORT} (HPE_INVALID_CONSTANT)`],
    [malformed({ reason: 'Expected HTTP/', rawPacket: Buffer.from([21, 2]) }), MALFORMED],
    [
      connectError('EINVAL', 'fe80::1'),
      'link-local address fe80::1 needs a network interface, which a URL cannot name (EINVAL)',
    ],
    [raised('connect EPERM 192.0.2.1:1 - Local (0.0.0.0:0)', 'EPERM'), 'connect EPERM 192.0.2.1:1'],
    [raised(`${OPENSSL}:tlsv1 alert no application protocol:a.c:1605:`, 'EPROTO'), `${ONLY_HTTP2} (EPROTO)`],
    [reset, 'connection reset'],
    [raised('socket hang up', 'ECONNRESET'), 'connection closed before a response arrived'],
    [
      raised('Client network socket disconnected before secure TLS connection was established', 'ECONNRESET'),
      'connection closed in the TLS handshake',
    ],
    [raised('write EPIPE', 'EPIPE'), 'connection closed while the request was sent'],
    [raised('connect ECONNREFUSED', 'ECONNREFUSED'), 'connection refused'],
    [timedOut, 'connection to 192.0.2.1:443 timed out'],
    [raised('connect ETIMEDOUT', 'ETIMEDOUT'), 'connection timed out'],
    [unreachable, 'no route to [::1]:443 (ENETUNREACH)'],
    [raised('connect EHOSTUNREACH', 'EHOSTUNREACH'), 'no route to the host (EHOSTUNREACH)'],
    [raised('address 10.0.0.1 is private', 'EGRESS_BLOCKED'), 'address 10.0.0.1 is private'],
    [new Error(''), 'exchange failed'],
    [null, 'exchange failed'],
  ])('of the error: %s', (error, detail) => {
    expect(classifyError(error).errorDetail).toBe(detail);
  });

  test.each([
    ['ENOTFOUND', 'name shop.example does not exist', 'name does not exist'],
    ['ENODATA', 'name shop.example has no address', 'name has no address'],
    ['EBADNAME', 'name shop.example is not valid', 'name is not valid'],
    ['ESERVFAIL', 'name servers could not resolve shop.example', 'name servers could not resolve the name'],
    ['EAI_AGAIN', 'name servers could not resolve shop.example', 'name servers could not resolve the name'],
    ['ETIMEOUT', 'name lookup timed out', 'name lookup timed out'],
    ['EINVAL', 'lookup of shop.example failed', 'lookup of the name failed'],
  ])('of a failed lookup: %s', (code, named, unnamed) => {
    const lookup = { syscall: 'getaddrinfo' };
    const failures = [{ ...lookup, hostname: 'shop.example' }, lookup].map((fields) =>
      classifyError(raised(`getaddrinfo ${code}`, code, fields)),
    );
    expect(failures).toEqual([
      { errorReason: 'DNS_ERROR', errorDetail: `${named} (${code})` },
      { errorReason: 'DNS_ERROR', errorDetail: `${unnamed} (${code})` },
    ]);
  });

  test.each([
    ['Nov 17 11:00:00', 'certificate expired 3 days ago'],
    ['Nov 20 11:00:00', 'certificate expired 1 hour ago'],
    ['Nov 20 11:58:59', 'certificate expired 1 minute ago'],
    ['Nov 20 11:59:59', 'certificate expired less than a minute ago'],
    ['Nov 20 12:00:00', 'certificate expired less than a minute ago'],
    ['Nov 20 12:00:01', 'certificate chain has expired'],
  ])('of a certificate that expired at %s', (time, detail) => {
    const error = raised('refused', 'CERT_HAS_EXPIRED', { cert: { valid_to: `${time} 2026 GMT` } });
    expect(classifyError(error, NOW).errorDetail).toBe(`${detail} (CERT_HAS_EXPIRED)`);
  });

  const later = { valid_from: 'Nov 21 12:00:00 2026 GMT' };
  const now = { valid_from: 'Nov 20 12:00:00 2026 GMT' };
  const unknown = 'certificate is signed by an unknown authority';
  test.each<[string, Fields, string]>([
    ['CERT_HAS_EXPIRED', {}, 'certificate chain has expired'],
    ['CERT_NOT_YET_VALID', { cert: later }, 'certificate is not valid yet, it becomes valid in 24 hours'],
    ['CERT_NOT_YET_VALID', { cert: now }, 'certificate is not valid yet'],
    ['CERT_NOT_YET_VALID', { cert: null }, 'certificate is not valid yet'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', {}, 'certificate is self-signed'],
    ['SELF_SIGNED_CERT_IN_CHAIN', {}, unknown],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', {}, `${unknown}, or an intermediate certificate is missing`],
    ['CERT_REVOKED', {}, 'refused'],
  ])('of a certificate: %s %j', (code, fields, detail) => {
    const expected = { errorReason: 'UNKNOWN_ERROR', errorDetail: `${detail} (${code})` };
    expect(classifyError(raised('refused', code, fields), NOW)).toEqual(expected);
  });

  test.each([
    ['DNS:a.example, DNS:*.b.example', ' (it is for a.example, *.b.example)'],
    ['DNS:a, DNS:b, DNS:c', ' (it is for a, b, c)'],
    [
      'DNS:"a, DNS:b", IP Address:192.0.2.1, URI:x:y, DNS:c, DNS:d, DNS:e',
      ' (it is for "a, DNS:b", 192.0.2.1, c and 2 more)',
    ],
    ['DNS:*.example', ' (it is for *.example; the wildcard *.example is too wide to count)'],
    [undefined, ''],
  ])('of a certificate for other names: %s', (subjectaltname, names) => {
    const fields = { host: 'shop.example', cert: { subjectaltname } };
    const error = raised('refused', 'ERR_TLS_CERT_ALTNAME_INVALID', fields);
    expect(classifyError(error).errorDetail).toBe(`certificate is not valid for shop.example${names}`);
    const unnamed = raised('refused', 'ERR_TLS_CERT_ALTNAME_INVALID');
    expect(classifyError(unnamed).errorDetail).toBe('refused');
  });
});

describe('sanitiseDetail', () => {
  test.each([
    ['plain ü 漢 🔔', 'plain ü 漢 🔔'],
    ['a\u0000b', 'a b'],
    ['two\r\nlines\ttab', 'two lines tab'],
    ['\u001b[31mred', '[31mred'],
    ['lone \ud83d end', 'lone   end'],
    ['\udd14', ''],
    ['flip \u202e side', 'flip   side'],
    ['', ''],
  ])('%j becomes %j', (text, clean) => {
    expect(sanitiseDetail(text)).toBe(clean);
  });

  test('cuts after 500 characters, and never splits a surrogate pair', () => {
    expect(sanitiseDetail('x'.repeat(500))).toBe('x'.repeat(500));
    expect(sanitiseDetail('x'.repeat(501))).toBe(`${'x'.repeat(499)}…`);
    expect(sanitiseDetail('x'.repeat(498) + '🔔🔔')).toBe(`${'x'.repeat(498)}…`);
  });

  test('returns bounded, well-formed text without control characters for any input', () => {
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 1500 }), (text) => {
        const clean = sanitiseDetail(text);
        expect(clean.length).toBeLessThanOrEqual(500);
        expect(clean.isWellFormed()).toBe(true);
        expect(clean).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});
