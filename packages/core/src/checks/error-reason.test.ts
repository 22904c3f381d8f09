import { describe, expect, test } from '@jest/globals';
import { assert, configureGlobal, integer, property, string } from 'fast-check';
import { PROPERTY_PARAMETERS } from '../testing/property-parameters.ts';
import { classifyError, sanitiseDetail } from './error-reason.ts';

configureGlobal(PROPERTY_PARAMETERS);

function systemError(message: string, fields: Readonly<Record<string, unknown>>): Error {
  return Object.assign(new Error(message), fields);
}

function connectError(code: string, address: string): Error {
  const message = `connect ${code} ${address}:443`;
  return systemError(message, { code, syscall: 'connect', address, port: 443 });
}

const NOW = new Date('2026-11-20T12:00:00.000Z');
const refused = connectError('ECONNREFUSED', '127.0.0.1');
const refused6 = connectError('ECONNREFUSED', '::1');
const unreachable = connectError('ENETUNREACH', '::1');
const timedOut = connectError('ETIMEDOUT', '192.0.2.1');
const reset = systemError('read ECONNRESET', { code: 'ECONNRESET', syscall: 'read' });

describe('classifyError', () => {
  test.each([
    ['ENOTFOUND', 'DNS_ERROR'],
    ['EAI_AGAIN', 'DNS_ERROR'],
    ['EAI_NODATA', 'DNS_ERROR'],
    ['EAI_FAIL', 'DNS_ERROR'],
    ['ENODATA', 'DNS_ERROR'],
    ['ESERVFAIL', 'DNS_ERROR'],
    ['ETIMEOUT', 'DNS_ERROR'],
    ['ECONNREFUSED', 'CONNECTION_REFUSED'],
    ['ETIMEDOUT', 'TIMEOUT'],
    ['ECONNRESET', 'UNKNOWN_ERROR'],
    ['EHOSTUNREACH', 'UNKNOWN_ERROR'],
    ['ENETUNREACH', 'UNKNOWN_ERROR'],
    ['EPIPE', 'UNKNOWN_ERROR'],
    ['CERT_HAS_EXPIRED', 'UNKNOWN_ERROR'],
    ['EGRESS_BLOCKED', 'UNKNOWN_ERROR'],
  ])('%s is %s', (code, reason) => {
    expect(classifyError(systemError('cause', { code })).errorReason).toBe(reason);
  });

  test('classifies any failure of getaddrinfo as DNS_ERROR', () => {
    const error = systemError('getaddrinfo EINVAL x', { code: 'EINVAL', syscall: 'getaddrinfo' });
    expect(classifyError(error)).toEqual({
      errorReason: 'DNS_ERROR',
      errorDetail: 'lookup of the name failed (EINVAL)',
    });
  });

  test.each([
    ['all refused', [refused6, refused], 'CONNECTION_REFUSED'],
    ['no IPv6 here, IPv4 refused', [unreachable, refused], 'CONNECTION_REFUSED'],
    ['one silent, one refused', [timedOut, refused], 'CONNECTION_REFUSED'],
    ['no IPv6 here, IPv4 silent', [unreachable, timedOut], 'TIMEOUT'],
    ['all unreachable', [unreachable, unreachable], 'UNKNOWN_ERROR'],
    ['reset', [reset, unreachable], 'UNKNOWN_ERROR'],
    ['none', [], 'UNKNOWN_ERROR'],
    ['nested', [new AggregateError([refused])], 'CONNECTION_REFUSED'],
  ])('of several attempts to connect: %s', (_name, errors, reason) => {
    expect(classifyError(new AggregateError(errors)).errorReason).toBe(reason);
  });

  test.each([
    [
      new AggregateError([refused6, refused]),
      'connection refused by [::1]:443, connection refused by 127.0.0.1:443',
    ],
    [
      systemError('Parse Error: Expected HTTP/', { code: 'HPE_INVALID_CONSTANT', reason: 'Expected HTTP/' }),
      'malformed response: Expected HTTP/ (HPE_INVALID_CONSTANT)',
    ],
    [
      systemError(
        'A0:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../ssl3_record.c:355:\n',
        {
          code: 'ERR_SSL_WRONG_VERSION_NUMBER',
          reason: 'wrong version number',
        },
      ),
      'TLS failed: wrong version number (ERR_SSL_WRONG_VERSION_NUMBER)',
    ],
    [
      systemError(
        'write EPROTO 80AC:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:a.c:3:',
        {
          code: 'EPROTO',
        },
      ),
      'TLS failed: wrong version number (EPROTO)',
    ],
    [
      systemError('Parse Error: Expected HTTP/', {
        code: 'HPE_INVALID_CONSTANT',
        rawPacket: Buffer.from([0, 0, 18, 4, 0, 0, 0, 0, 0, 1, 2, 3]),
      }),
      'server speaks only HTTP/2, which checks do not (HPE_INVALID_CONSTANT)',
    ],
    [
      systemError('Parse Error: Expected HTTP/', {
        code: 'HPE_INVALID_CONSTANT',
        reason: 'Expected HTTP/',
        rawPacket: Buffer.from([0, 0, 18, 4]),
      }),
      'malformed response: Expected HTTP/ (HPE_INVALID_CONSTANT)',
    ],
    [
      systemError(
        '80AC:error:0A000460:SSL routines:ssl3_read_bytes:tlsv1 alert no application protocol:a.c:1605:',
        { code: 'EPROTO' },
      ),
      'server speaks only HTTP/2, which checks do not (EPROTO)',
    ],
    [reset, 'connection reset'],
    [systemError('socket hang up', { code: 'ECONNRESET' }), 'connection closed before a response arrived'],
    [
      systemError('Client network socket disconnected before secure TLS connection was established', {
        code: 'ECONNRESET',
      }),
      'connection closed in the TLS handshake',
    ],
    [systemError('write EPIPE', { code: 'EPIPE' }), 'connection closed while the request was sent'],
    [systemError('connect ECONNREFUSED', { code: 'ECONNREFUSED' }), 'connection refused'],
    [timedOut, 'connection to 192.0.2.1:443 timed out'],
    [unreachable, 'no route to [::1]:443 (ENETUNREACH)'],
    [systemError('address 10.0.0.1 is private', { code: 'EGRESS_BLOCKED' }), 'address 10.0.0.1 is private'],
    [new Error(''), 'exchange failed'],
    ['a string', 'exchange failed'],
    [null, 'exchange failed'],
    [undefined, 'exchange failed'],
  ])('describes the error: %s', (error, detail) => {
    expect(classifyError(error).errorDetail).toBe(detail);
  });

  test.each([
    ['ENOTFOUND', 'name shop.example does not exist (ENOTFOUND)'],
    ['ENODATA', 'name shop.example has no address (ENODATA)'],
    ['EBADNAME', 'name shop.example is not valid (EBADNAME)'],
    ['ESERVFAIL', 'name servers could not resolve shop.example (ESERVFAIL)'],
    ['EAI_AGAIN', 'name servers could not resolve shop.example (EAI_AGAIN)'],
    ['ETIMEOUT', 'name lookup timed out (ETIMEOUT)'],
  ])('describes a failed lookup: %s', (code, detail) => {
    const error = systemError(`queryA ${code} shop.example`, { code, hostname: 'shop.example' });
    expect(classifyError(error).errorDetail).toBe(detail);
  });

  test.each<[string, Readonly<Record<string, unknown>>, string]>([
    [
      'CERT_HAS_EXPIRED',
      { cert: { valid_to: 'Nov 17 11:00:00 2026 GMT' } },
      'certificate expired 3 days ago (CERT_HAS_EXPIRED)',
    ],
    [
      'CERT_HAS_EXPIRED',
      { cert: { valid_to: 'Nov 20 11:00:00 2026 GMT' } },
      'certificate expired 1 hour ago (CERT_HAS_EXPIRED)',
    ],
    [
      'CERT_HAS_EXPIRED',
      { cert: { valid_to: 'Nov 20 11:58:59 2026 GMT' } },
      'certificate expired 1 minute ago (CERT_HAS_EXPIRED)',
    ],
    [
      'CERT_HAS_EXPIRED',
      { cert: { valid_to: 'Nov 20 11:59:59 2026 GMT' } },
      'certificate expired less than a minute ago (CERT_HAS_EXPIRED)',
    ],
    [
      'CERT_HAS_EXPIRED',
      { cert: { valid_to: 'Nov 20 12:00:01 2026 GMT' } },
      'certificate chain has expired (CERT_HAS_EXPIRED)',
    ],
    ['CERT_HAS_EXPIRED', {}, 'certificate chain has expired (CERT_HAS_EXPIRED)'],
    [
      'CERT_NOT_YET_VALID',
      { cert: { valid_from: 'Nov 21 12:00:00 2026 GMT' } },
      'certificate is not valid yet, it becomes valid in 24 hours (CERT_NOT_YET_VALID)',
    ],
    ['CERT_NOT_YET_VALID', { cert: null }, 'certificate is not valid yet (CERT_NOT_YET_VALID)'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', {}, 'certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)'],
    [
      'SELF_SIGNED_CERT_IN_CHAIN',
      {},
      'certificate is signed by an unknown authority (SELF_SIGNED_CERT_IN_CHAIN)',
    ],
    [
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      {},
      'certificate is signed by an unknown authority, or an intermediate certificate is missing (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    ],
    [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      { host: 'shop.example', cert: { subjectaltname: 'DNS:a.example, DNS:*.b.example' } },
      'certificate is not valid for shop.example (it is for a.example, *.b.example)',
    ],
    [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      {
        host: 'shop.example',
        cert: { subjectaltname: 'DNS:"a, DNS:b", IP Address:192.0.2.1, URI:x:y, DNS:c, DNS:d, DNS:e' },
      },
      'certificate is not valid for shop.example (it is for "a, DNS:b", 192.0.2.1, c and 2 more)',
    ],
    ['ERR_TLS_CERT_ALTNAME_INVALID', {}, 'refused'],
    ['CERT_REVOKED', {}, 'refused (CERT_REVOKED)'],
  ])('describes a certificate: %s %j', (code, fields, detail) => {
    expect(classifyError(systemError('refused', { code, ...fields }), NOW)).toEqual({
      errorReason: 'UNKNOWN_ERROR',
      errorDetail: detail,
    });
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

  test('never splits a surrogate pair when it cuts', () => {
    expect(sanitiseDetail('x'.repeat(498) + '🔔🔔')).toBe(`${'x'.repeat(498)}…`);
  });

  test('returns bounded, well-formed text without control characters for any input', () => {
    const anyText = string({
      unit: integer({ min: 0, max: 0xffff }).map((n) => String.fromCharCode(n)),
      maxLength: 1500,
    });
    assert(
      property(anyText, (text) => {
        const clean = sanitiseDetail(text);
        expect(clean.length).toBeLessThanOrEqual(500);
        expect(clean.isWellFormed()).toBe(true);
        expect(clean).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});
