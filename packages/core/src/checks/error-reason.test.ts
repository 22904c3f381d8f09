import { describe, expect, test } from '@jest/globals';
import { assert, configureGlobal, integer, property, string } from 'fast-check';
import { PROPERTY_PARAMETERS } from '../testing/property-parameters.ts';
import { classifyError, sanitiseDetail } from './error-reason.ts';

configureGlobal(PROPERTY_PARAMETERS);

function systemError(message: string, fields: Readonly<Record<string, unknown>>): Error {
  return Object.assign(new Error(message), fields);
}

const refused = systemError('connect ECONNREFUSED 127.0.0.1:1', { code: 'ECONNREFUSED', syscall: 'connect' });
const refused6 = systemError('connect ECONNREFUSED ::1:1', { code: 'ECONNREFUSED', syscall: 'connect' });
const unreachable = systemError('connect ENETUNREACH ::1:1', { code: 'ENETUNREACH', syscall: 'connect' });
const timedOut = systemError('connect ETIMEDOUT 192.0.2.1:1', { code: 'ETIMEDOUT', syscall: 'connect' });
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
    expect(classifyError(error)).toEqual({ errorReason: 'DNS_ERROR', errorDetail: 'getaddrinfo EINVAL x' });
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
    [new AggregateError([refused6, refused]), 'connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1'],
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
      'the server speaks only HTTP/2, which checks do not (HPE_INVALID_CONSTANT)',
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
      'the server speaks only HTTP/2, which checks do not (EPROTO)',
    ],
    [reset, 'the connection was reset (ECONNRESET)'],
    [
      systemError('certificate has expired', { code: 'CERT_HAS_EXPIRED' }),
      'certificate has expired (CERT_HAS_EXPIRED)',
    ],
    [
      systemError('socket hang up', { code: 'ECONNRESET' }),
      'the connection was closed before a response arrived (ECONNRESET)',
    ],
    [systemError('address 10.0.0.1 is private', { code: 'EGRESS_BLOCKED' }), 'address 10.0.0.1 is private'],
    [new Error(''), 'the exchange failed'],
    ['a string', 'the exchange failed'],
    [null, 'the exchange failed'],
    [undefined, 'the exchange failed'],
  ])('describes the error: %s', (error, detail) => {
    expect(classifyError(error).errorDetail).toBe(detail);
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
