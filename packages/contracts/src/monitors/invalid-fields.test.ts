import { describe, expect, test } from '@jest/globals';
import { createMonitorSchema, updateMonitorSchema, validateMonitor } from './monitor.ts';

const URL_RULE = /full URL|must be a string/;
const headersOf = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, 'a']));

/** The form of PEM texts, which the API parses. */
const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const KEY = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';
const ENCRYPTED_KEY = KEY.replaceAll('PRIVATE', 'ENCRYPTED PRIVATE');
const LONG_CONDITIONS = Array.from({ length: 20 }, () => ({ name: 'A', contains: '€'.repeat(5_000) }));

/** Values that both a new monitor and an update refuse. */
const INVALID: readonly (readonly [field: string, value: unknown, path: string, message: RegExp])[] = [
  ['name', '', 'name', /1 to 255/],
  ['name', ' \t\n', 'name', /must not be blank/],
  ['name', 'a'.repeat(256), 'name', /at most 255/],
  ['name', null, 'name', /must be a string/],
  ['name', 'a\0b', 'name', /NUL/],
  ['name', 'a\ud800b', 'name', /lone surrogate/],
  ['url', '', 'url', /full URL/],
  ['url', '   ', 'url', /must not be blank/],
  ['url', null, 'url', URL_RULE],
  ['url', 'shop.example', 'url', URL_RULE],
  ['url', 'ftp://shop.example', 'url', URL_RULE],
  ['url', 'http://', 'url', URL_RULE],
  ['url', 'javascript:alert(1)', 'url', URL_RULE],
  ['url', 'http://user:password@shop.example', 'url', /user name or password/],
  ['url', 'http://shop.example/a b', 'url', /white space/],
  ['url', 'http://shop.example/\0', 'url', /NUL/],
  ['url', 'http://shop.example:99999', 'url', URL_RULE],
  ['url', `http://shop.example/${'a'.repeat(2048)}`, 'url', /at most 2048/],
  ['type', 'TCP', 'type', /one of HTTP/],
  ['type', 'http', 'type', /one of HTTP/],
  ['interval', 4, 'interval', /5 to 86400/],
  ['interval', 86_401, 'interval', /5 to 86400/],
  ['interval', 60.5, 'interval', /integer/],
  ['interval', '60', 'interval', /integer from 5 to 86400 \(seconds\)/],
  ['timeout', 0, 'timeout', /1 to 60/],
  ['timeout', 61, 'timeout', /1 to 60/],
  ['timeout', true, 'timeout', /integer/],
  ['enabled', 'no', 'enabled', /true or false/],
  ['enabled', null, 'enabled', /true or false/],
  ['followRedirects', 0, 'followRedirects', /true or false/],
  ['ipFamily', 5, 'ipFamily', /4 or 6/],
  ['ipFamily', '4', 'ipFamily', /4 or 6/],
  ['connectTo', '', 'connectTo', /host or an address/],
  ['connectTo', 'http://a.example', 'connectTo', /host or an address/],
  ['connectTo', 'a.example:0', 'connectTo', /host or an address/],
  ['connectTo', 'a.example:65536', 'connectTo', /host or an address/],
  ['connectTo', 'user@a.example', 'connectTo', /host or an address/],
  ['connectTo', 'a b', 'connectTo', /host or an address/],
  ['connectTo', '[::1', 'connectTo', /host or an address/],
  ['connectTo', 'a'.repeat(262), 'connectTo', /at most 261/],
  ['tls', [], 'tls', /object/],
  ['tls', { insecure: true }, 'tls.insecure', /known fields: serverName, ca, certificate, key, verify/],
  ['tls', { serverName: '192.0.2.1' }, 'tls.serverName', /host name/],
  ['tls', { serverName: 'https://a.example' }, 'tls.serverName', /host name/],
  ['tls', { verify: null }, 'tls.verify', /true or false/],
  ['tls', { ca: 'a.pem' }, 'tls.ca', /is not a PEM certificate/],
  ['tls', { certificate: KEY, key: KEY }, 'tls.certificate', /is not a PEM certificate/],
  ['tls', { certificate: CERTIFICATE }, 'tls.key', /is missing/],
  ['tls', { key: KEY }, 'tls.certificate', /is missing/],
  ['tls', { certificate: CERTIFICATE, key: CERTIFICATE }, 'tls.key', /is not a PEM private key/],
  ['tls', { certificate: CERTIFICATE, key: ENCRYPTED_KEY }, 'tls.key', /is encrypted/],
  ['tls', { certificate: CERTIFICATE, key: '(secret)' }, 'tls.key', /must be the actual value/],
  ['tls', { ca: CERTIFICATE.repeat(1_500) }, 'tls', /at most 65536 bytes of PEM in all/],
  ['method', 'DELETE', 'method', /GET, POST, PUT, PATCH, HEAD/],
  ['method', 'get', 'method', /GET, POST, PUT, PATCH, HEAD/],
  ['headers', [], 'headers', /object of header names/],
  ['headers', headersOf(51), 'headers', /at most 50/],
  ['headers', { 'X-A': 5 }, 'headers.X-A', /must be a string/],
  ['headers', { 'X-A': 'a\r\nb' }, 'headers.X-A', /visible/],
  ['headers', { 'X-A': '⏰' }, 'headers.X-A', /Latin-1/],
  ['headers', { 'X-A': 'a'.repeat(8193) }, 'headers.X-A', /at most 8192/],
  ['headers', { 'X A': 'b' }, 'headers.X A', /valid header name/],
  ['headers', { '': 'b' }, 'headers.', /valid header name/],
  ['headers', { 'X-A': 'b', 'x-a': 'c' }, 'headers.x-a', /twice/],
  ['headers', { Connection: 'close' }, 'headers.Connection', /connection itself/],
  ['headers', { 'Transfer-Encoding': 'chunked' }, 'headers.Transfer-Encoding', /connection itself/],
  ['headers', { 'content-length': '3' }, 'headers.content-length', /connection itself/],
  ['body', 5, 'body', /must be a string/],
  ['body', 'a\0', 'body', /NUL/],
  ['body', 'ä'.repeat(32_769), 'body', /at most 65536 bytes/],
  ['assertions', [], 'assertions', /object/],
  ['assertions', { statusCode: 99 }, 'assertions.statusCode', /100 to 599/],
  ['assertions', { statusCode: 600 }, 'assertions.statusCode', /100 to 599/],
  ['assertions', { statusCode: '200' }, 'assertions.statusCode', /integer/],
  ['assertions', { bodyContains: '' }, 'assertions.bodyContains', /must not be empty/],
  ['assertions', { bodyContains: '\0' }, 'assertions.bodyContains', /NUL/],
  ['assertions', { bodyNotContains: 'a'.repeat(10_001) }, 'assertions.bodyNotContains', /at most 10000/],
  ['assertions', { maxLatency: 0 }, 'assertions.maxLatency', /1 to 60000 \(milliseconds\)/],
  ['assertions', { certificateMinDays: 3651 }, 'assertions.certificateMinDays', /1 to 3650 \(days\)/],
  ['assertions', { statusCodes: [] }, 'assertions.statusCodes', /must not be empty/],
  ['assertions', { statusCodes: 200 }, 'assertions.statusCodes', /array of status codes/],
  ['assertions', { statusCodes: [200, 600] }, 'assertions.statusCodes.1', /100 to 599, or a range/],
  ['assertions', { statusCodes: ['2xx'] }, 'assertions.statusCodes.0', /100 to 599, or a range/],
  ['assertions', { statusCodes: ['299-200'] }, 'assertions.statusCodes.0', /100 to 599, or a range/],
  ['assertions', { statusCodes: Array(21).fill(200) }, 'assertions.statusCodes', /at most 20/],
  ['assertions', { statusCode: 200, statusCodes: [201] }, 'assertions.statusCodes', /with `statusCode`/],
  ['assertions', { bodyMatches: '' }, 'assertions.bodyMatches', /must not be empty/],
  ['assertions', { bodyMatches: 'a'.repeat(1_001) }, 'assertions.bodyMatches', /at most 1000/],
  ['assertions', { headers: {} }, 'assertions.headers', /array of conditions/],
  ['assertions', { headers: [{ equals: 'a' }] }, 'assertions.headers.0.name', /is required/],
  ['assertions', { headers: [{ name: 'a b', equals: 'a' }] }, 'assertions.headers.0.name', /valid header/],
  ['assertions', { headers: [{ name: 'A' }] }, 'assertions.headers.0', /must have a test/],
  ['assertions', { headers: [{ name: 'A', lessThan: 5 }] }, 'assertions.headers.0.lessThan', /not a known/],
  ['assertions', { headers: [{ name: 'A', equals: 5 }] }, 'assertions.headers.0.equals', /be a string/],
  ['assertions', { json: [] }, 'assertions.json', /must not be empty/],
  [
    'assertions',
    { json: Array.from({ length: 21 }, () => ({ path: '$', exists: true })) },
    'assertions.json',
    /at most 20/,
  ],
  ['assertions', { json: [{ equals: 1 }] }, 'assertions.json.0.path', /is required/],
  ['assertions', { json: [{ path: '$.a' }] }, 'assertions.json.0', /must have a test/],
  ['assertions', { json: [{ path: '$', exists: false, equals: 1 }] }, 'assertions.json.0.exists', /absent/],
  ['assertions', { json: [{ path: '$', exists: 'yes' }] }, 'assertions.json.0.exists', /true or false/],
  ['assertions', { json: [{ path: '$', lessThan: '5' }] }, 'assertions.json.0.lessThan', /be a number/],
  ['assertions', { json: [{ path: '$', equals: ['a\0'] }] }, 'assertions.json.0.equals', /NUL/],
  ['assertions', { json: [{ path: '$', equals: { '\ud800': 1 } }] }, 'assertions.json.0.equals', /surrogate/],
  ['assertions', { json: [{ path: '$', equals: 'a'.repeat(10_000) }] }, 'assertions.json.0.equals', /10000/],
  ['assertions', { headers: LONG_CONDITIONS }, 'assertions', /at most 131072 bytes/],
  [
    'assertions',
    { status_code: 200 },
    'assertions.status_code',
    /did you mean `statusCode`.*known fields: statusCode, /,
  ],
  ['failureThreshold', 0, 'failureThreshold', /1 to 100/],
  ['failureThreshold', 101, 'failureThreshold', /1 to 100/],
  ['failureThreshold', null, 'failureThreshold', /integer/],
  ['retryInterval', 4, 'retryInterval', /5 to 3600/],
  ['retryInterval', 3_601, 'retryInterval', /5 to 3600/],
  ['retryInterval', '10', 'retryInterval', /integer/],
  ['recoveryThreshold', 0, 'recoveryThreshold', /1 to 100/],
  ['recoveryThreshold', 101, 'recoveryThreshold', /1 to 100/],
  ['recoveryThreshold', null, 'recoveryThreshold', /integer/],
  ['regions', 'default', 'regions', /array of region codes/],
  ['regions', ['EU'], 'regions.0', /lower-case/],
  ['regions', ['eu', ''], 'regions.1', /region code/],
  ['regions', ['eu', '-us'], 'regions.1', /region code/],
  ['regions', [5], 'regions.0', /must be a string/],
  ['regions', ['a'.repeat(64)], 'regions.0', /63/],
  ['regions', ['eu', 'eu'], 'regions', /twice/],
  ['regions', Array.from({ length: 21 }, (_, index) => `r${index}`), 'regions', /at most 20/],
  ['runbookUrl', '', 'runbookUrl', /full URL/],
  ['runbookUrl', 'wiki/shop', 'runbookUrl', URL_RULE],
  ['runbookUrl', 5, 'runbookUrl', /must be a string/],
  ['externalId', '', 'externalId', /must not be blank/],
  ['externalId', 'a'.repeat(256), 'externalId', /at most 255/],
  ['externalId', 5, 'externalId', /must be a string/],
  ['externalId', ' shop', 'externalId', /white space/],
  ['externalId', 'shop\n', 'externalId', /white space/],
  ['externalId', '.', 'externalId', /must not be `\.` or `\.\.`/],
  ['externalId', '..', 'externalId', /must not be `\.` or `\.\.`/],
  ['source', 'shop ', 'source', /white space/],
  ['source', ' ', 'source', /must not be blank/],
  ['source', 'a\udc00', 'source', /lone surrogate/],
  ['source', [], 'source', /must be a string/],
  ['labels', { app: 5 }, 'labels.app', /string/],
  ['color', 'red', 'color', /is not a known field; known fields: name, url, type, /],
  ['status', 'UP', 'status', /is not a known field/],
  ['id', '1', 'id', /is not a known field/],
  ['failure_threshold', 3, 'failure_threshold', /did you mean `failureThreshold`/],
];

test('the table contains every field', () => {
  const named = new Set(INVALID.map(([field]) => field));
  expect(Object.keys(createMonitorSchema.shape).filter((field) => !named.has(field))).toEqual([]);
});

describe('validateMonitor', () => {
  test.each(INVALID)('refuses %s = %j', (field, value, path, message) => {
    const expected = {
      input: null,
      errors: expect.arrayContaining([
        expect.objectContaining({ path, message: expect.stringMatching(message) }),
      ]),
    };
    const created = { name: 'a', url: 'http://a.example', [field]: value };
    expect(validateMonitor(createMonitorSchema, created)).toEqual(expected);
    expect(validateMonitor(updateMonitorSchema, { [field]: value })).toEqual(expected);
  });

  test.each([
    { interval: 5, timeout: 60, failureThreshold: 100, retryInterval: 5, recoveryThreshold: 100 },
    { interval: 86_400, timeout: 1, failureThreshold: 1, retryInterval: 3_600, recoveryThreshold: 1 },
    { name: 'a'.repeat(255), labels: null },
    { enabled: false, followRedirects: false, ipFamily: 4, connectTo: 'origin_1.example:65535' },
    { ipFamily: 6, connectTo: '2001:db8::1', tls: { serverName: 'shop', verify: false } },
    { ipFamily: null, connectTo: '[2001:db8::1]:1', tls: {} },
    { connectTo: '192.0.2.1', tls: { ca: CERTIFICATE, certificate: CERTIFICATE, key: KEY } },
    {
      assertions: { statusCode: 100, maxLatency: 60_000, certificateMinDays: 3_650 },
      regions: ['a'.repeat(63)],
    },
    { assertions: { statusCode: 599, maxLatency: 1, certificateMinDays: 1 }, headers: headersOf(50) },
    {
      assertions: {
        statusCodes: [100, '100-599', '204-204'],
        bodyMatches: 'a'.repeat(1_000),
        headers: [{ name: 'Content-Type', equals: 'a', contains: 'a', matches: 'a', exists: true }],
        json: Array.from({ length: 20 }, () => ({
          path: '$',
          equals: null,
          contains: 'a',
          matches: 'a',
          exists: true,
        })),
      },
    },
    { assertions: { json: [{ path: '$', equals: { a: [1, 'x'] }, lessThan: 1.5, greaterThan: -1e300 }] } },
  ])('accepts the smallest and largest values: %j', (fields) => {
    const monitor = { name: 'a', url: 'http://a.example', ...fields };
    expect(validateMonitor(createMonitorSchema, monitor).errors).toEqual([]);
  });

  test('refuses a JSON value that is nested too deeply', () => {
    for (const levels of [102, 4_990, 200_000]) {
      const equals: unknown = JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
      const assertions = { json: [{ path: '$', equals }] };
      const { errors } = validateMonitor(updateMonitorSchema, { assertions });
      const message = 'must be nested at most 100 levels deep';
      expect(errors).toMatchObject([{ path: 'assertions.json.0.equals', message }]);
    }
  });

  test('reports all invalid fields at once', () => {
    const { errors } = validateMonitor(createMonitorSchema, {
      name: ' ',
      interval: 1,
      method: 'HEAD',
      assertions: { bodyContains: 'a', statusCode: 1, color: 1 },
      regions: ['EU'],
      headers: { 'X-A': 1, 'X B': 'b' },
      color: 'red',
    });
    const paths = ['name', 'url', 'interval', 'assertions.statusCode', 'assertions.color', 'regions.0'];
    expect(errors.map(({ path }) => path).toSorted()).toEqual(
      [...paths, 'headers.X-A', 'headers.X B', 'color'].toSorted(),
    );
  });

  test('reports body assertions with HEAD, even along with other errors', () => {
    const fields = {
      url: 'http://a.example',
      method: 'HEAD',
      assertions: { bodyContains: 'a' },
      interval: 1,
    };
    expect(validateMonitor(createMonitorSchema, { name: 'a', ...fields }).errors).toContainEqual({
      path: 'assertions.bodyContains',
      message: expect.stringContaining('HEAD'),
    });
  });
});
