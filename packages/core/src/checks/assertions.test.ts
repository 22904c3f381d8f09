import { describe, expect, test } from '@jest/globals';
import type { Assertions, HeaderCondition, JsonCondition } from '@tocsin/contracts/monitors/assertions';
import {
  type CheckedResponse,
  evaluateAssertions,
  followsRedirects,
  type ResponseVerdict,
  evaluateResponse,
  needsBody,
  statusPasses,
} from './assertions.ts';

const NOW = new Date('2026-11-01T00:00:00.000Z');
const UP: ResponseVerdict = { status: 'UP', errorReason: null, errorDetail: null };

const COMPLETE: CheckedResponse = {
  statusCode: 200,
  headers: {},
  body: null,
  latencyMs: 20,
  certificateExpiresAt: null,
  now: NOW,
  redact: (text) => text.replaceAll('hunter22', '[hidden]'),
  showHeader: (name, value) => (name === 'set-cookie' ? '[hidden]' : value),
};

function evaluate(response: Partial<CheckedResponse>, assertions: Assertions | null = null): ResponseVerdict {
  return evaluateResponse({ ...COMPLETE, ...response }, assertions);
}

describe('the status code', () => {
  test.each([200, 204, 299, 300, 304, 399])('%d passes without an assertion', (statusCode) => {
    expect(evaluate({ statusCode })).toEqual(UP);
    expect(evaluate({ statusCode }, {})).toEqual(UP);
    expect(statusPasses(statusCode, {})).toBe(true);
  });

  test.each([
    [100, 'HTTP_100'],
    [199, 'HTTP_199'],
    [400, 'HTTP_400'],
    [503, 'HTTP_503'],
    [999, 'HTTP_999'],
    [0, 'UNKNOWN_ERROR'],
    [99, 'UNKNOWN_ERROR'],
  ])('%d is %s without an assertion', (statusCode, errorReason) => {
    const errorDetail = `expected a status from 200 to 399, got ${statusCode}`;
    expect(evaluate({ statusCode })).toEqual({ status: 'DOWN', errorReason, errorDetail });
    expect(statusPasses(statusCode, null)).toBe(false);
  });

  test.each([
    [503, 503, null],
    [301, 301, null],
    [200, 204, 'HTTP_200'],
    [204, 200, 'HTTP_204'],
    [302, 200, 'HTTP_302'],
  ])('%d when %d is asserted', (statusCode, asserted, errorReason) => {
    const verdict = evaluate({ statusCode }, { statusCode: asserted });
    const errorDetail = errorReason && `expected status ${asserted}, got ${statusCode}`;
    expect(verdict).toMatchObject({ errorReason, errorDetail });
    expect(statusPasses(statusCode, { statusCode: asserted })).toBe(errorReason === null);
  });

  test.each<[number, (number | string)[], string | null]>([
    [204, [204, '300-399'], null],
    [300, [204, '300-399'], null],
    [399, [204, '300-399'], null],
    [400, [204, '300-399'], 'expected a status of 204, 300-399, got 400'],
    [200, ['201-201'], 'expected a status of 201-201, got 200'],
  ])('%d when %j are asserted', (statusCode, statusCodes, errorDetail) => {
    const errorReason = errorDetail && `HTTP_${statusCode}`;
    expect(evaluate({ statusCode }, { statusCodes })).toMatchObject({ errorReason, errorDetail });
    expect(statusPasses(statusCode, { statusCodes })).toBe(errorDetail === null);
  });

  test('is checked before every other assertion', () => {
    const assertions = { bodyContains: 'ok', maxLatency: 1 };
    const { errorReason } = evaluate({ statusCode: 500, body: '', latencyMs: 900 }, assertions);
    expect(errorReason).toBe('HTTP_500');
  });
});

const day = (days: number, ms = 0): Date => new Date(NOW.getTime() + days * 86_400_000 + ms);

describe('the other assertions', () => {
  test.each<[string, Partial<CheckedResponse>, Assertions, string | null]>([
    ['text found', { body: 'all ok here' }, { bodyContains: 'ok' }, null],
    ['case is significant', { body: 'OK' }, { bodyContains: 'ok' }, 'body does not contain “ok”'],
    ['an empty body', { body: '' }, { bodyContains: 'ok' }, 'body does not contain “ok”'],
    ['no body', { body: null }, { bodyContains: 'ok' }, 'body does not contain “ok”'],
    ['text absent', { body: 'fine' }, { bodyNotContains: 'error' }, null],
    ['no body', { body: null }, { bodyNotContains: 'error' }, null],
    ['text present', { body: 'an error' }, { bodyNotContains: 'error' }, 'body contains “error”'],
    ['both', { body: 'ok' }, { bodyContains: 'ok', bodyNotContains: 'error' }, null],
    ['a match', { body: 'v1.20' }, { bodyMatches: 'v\\d+\\.\\d+' }, null],
    ['no match', { body: 'V1.20' }, { bodyMatches: '^v' }, 'body does not match /^v/'],
    ['no body to match', { body: null }, { bodyMatches: '.' }, 'body does not match /./'],
    ['in time', { latencyMs: 100 }, { maxLatency: 100 }, null],
    ['too slow', { latencyMs: 101 }, { maxLatency: 100 }, 'latency 101 ms above the maximum of 100 ms'],
    [
      'no certificate',
      {},
      { certificateMinDays: 14 },
      'no certificate: the response did not come over https',
    ],
    [
      'several failed rules',
      { body: 'x', latencyMs: 9 },
      { bodyContains: 'ok', maxLatency: 5 },
      'body does not contain “ok”; latency 9 ms above the maximum of 5 ms',
    ],
  ])('%s', (_name, response, assertions, errorDetail) => {
    const down = { status: 'DOWN', errorReason: 'UNKNOWN_ERROR', errorDetail };
    expect(evaluate(response, assertions)).toEqual(errorDetail === null ? UP : down);
  });

  test.each([
    [day(14), 14, null],
    [day(14, -1), 14, 'expires in 13 days, below the minimum of 14 days'],
    [day(2), 3, 'expires in 2 days, below the minimum of 3 days'],
    [day(2, -1), 2, 'expires in 47 hours, below the minimum of 2 days'],
    [day(0, 3_600_000), 1, 'expires in 1 hour, below the minimum of 1 day'],
    [day(0, 3_599_999), 1, 'expires in 59 minutes, below the minimum of 1 day'],
    [day(0), 1, 'expires in less than a minute, below the minimum of 1 day'],
    [day(0, -1), 1, 'expired, below the minimum of 1 day'],
  ])('a certificate that expires at %p, with a minimum of %i days', (certificateExpiresAt, days, detail) => {
    const { errorDetail } = evaluate({ certificateExpiresAt }, { certificateMinDays: days });
    expect(errorDetail).toBe(detail && `certificate ${detail}`);
  });

  test.each([
    ['x'.repeat(80), 'x'.repeat(80)],
    [`a\nb${'x'.repeat(9_000)}`, `a b${'x'.repeat(77)}…`],
  ])('a text longer than 80 characters is quoted in part, and on one line', (bodyContains, quoted) => {
    expect(evaluate({ body: '' }, { bodyContains }).errorDetail).toBe(`body does not contain “${quoted}”`);
  });
});

const JSON_BODY = JSON.stringify({
  status: 'degraded',
  version: '2.4.1',
  count: 12,
  ready: true,
  none: null,
  list: ['a', 'b', 'c', 'd'],
  nested: { a: [1, { b: 2 }] },
  token: `x${'-'.repeat(100)}hunter22`,
  short: 'my hunter22',
  long: 'a'.repeat(8_193),
});

describe('a condition about JSON', () => {
  test.each<[JsonCondition, string | null]>([
    [{ path: '$.status', equals: 'degraded' }, null],
    [{ path: '$.status', equals: 'ok' }, '$.status: expected "ok", got "degraded"'],
    [{ path: '$.count', equals: '12' }, '$.count: expected "12", got 12'],
    [{ path: '$.count', equals: 12 }, null],
    [{ path: '$.none', equals: null }, null],
    [{ path: '$.missing', equals: null }, '$.missing: expected null, got nothing'],
    [{ path: '$.nested', equals: { a: [1, { b: 2 }] } }, null],
    [
      { path: '$.nested', equals: { a: [1, { b: 3 }] } },
      '$.nested: expected {"a":[1,{"b":3}]}, got an object',
    ],
    [{ path: '$.nested.a', equals: [] }, '$.nested.a: expected [], got an array of 2 elements'],
    [{ path: '$.list[*]', equals: 'c' }, null],
    [{ path: '$.list[*]', equals: 'e' }, '$.list[*]: expected "e", got "a", "b", "c" and 1 more'],
    [{ path: '$.version', contains: '.4' }, null],
    [{ path: '$.version', contains: '3' }, '$.version: expected text that contains "3", got "2.4.1"'],
    [{ path: '$.version', matches: '^2\\.' }, null],
    [{ path: '$.long', equals: 'a' }, '$.long: expected "a", got a text of 8193 characters'],
    [{ path: '$.version', matches: '^3' }, '$.version: expected a match of /^3/, got "2.4.1"'],
    [{ path: '$.count', matches: '^1\\d$' }, null],
    [{ path: '$.ready', contains: 'true' }, null],
    [
      { path: '$.list', contains: 'a' },
      '$.list: expected text that contains "a", got an array of 4 elements',
    ],
    [{ path: '$.count', lessThan: 13, greaterThan: 11 }, null],
    [
      { path: '$.count', lessThan: 12, greaterThan: 11 },
      '$.count: expected more than 11 and less than 12, got 12',
    ],
    [{ path: '$.version', lessThan: 5 }, '$.version: expected less than 5, got "2.4.1"'],
    [{ path: '$.none', exists: true }, null],
    [{ path: '$.missing', exists: true }, '$.missing: expected a value, got nothing'],
    [{ path: '$.missing', exists: false }, null],
    [{ path: '$.ready', exists: false }, '$.ready: expected nothing, got true'],
    [{ path: '$[?length($.list) == 4]', exists: true }, null],
    [{ path: '$.short', equals: 'x' }, '$.short: expected "x", got "my [hidden]"'],
    [{ path: '$.token', equals: 'x' }, `$.token: expected "x", got "x${'-'.repeat(79)}…"`],
  ])('%j', (condition, detail) => {
    const errorDetail = detail && `JSON path ${detail}`;
    expect(evaluate({ body: JSON_BODY }, { json: [condition] }).errorDetail).toBe(errorDetail);
  });

  test.each([
    ['<html>', 'body is not JSON'],
    ['{"a":1', 'body is not JSON'],
    ['', 'body is empty, not JSON'],
    [null, 'body is empty, not JSON'],
    ['\uFEFF{"a":1}', null],
  ])('with the body %j', (body, errorDetail) => {
    const json = [
      { path: '$.a', equals: 1 },
      { path: '$.b', exists: false },
    ];
    expect(evaluate({ body }, { json }).errorDetail).toBe(errorDetail);
  });

  test('all failures are in one text', () => {
    const json = [
      { path: '$.status', equals: 'ok' },
      { path: '$.count', equals: 12 },
      { path: '$.ready', equals: false },
    ];
    expect(evaluate({ body: JSON_BODY }, { json, bodyContains: 'x2' }).errorDetail).toBe(
      'body does not contain “x2”; JSON path $.status: expected "ok", got "degraded"; JSON path $.ready: expected false, got true',
    );
  });

  test('too much work is a failure', () => {
    const body = JSON.stringify(Array.from({ length: 1_000 }, () => [1, 2, 3]));
    const json = [
      { path: '$..[?count($..*) > 5]', exists: true },
      { path: '$', exists: true },
    ];
    expect(evaluate({ body }, { json }).errorDetail).toMatch(/^JSON path .* too costly for this response/);
  });
});

const HEADERS = { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'], 'x-name': 'Ã¼' };

test.each<[HeaderCondition, string | null]>([
  [{ name: 'Content-Type', equals: 'application/json' }, null],
  [{ name: 'content-type', contains: 'json', matches: '^app' }, null],
  [
    { name: 'Content-Type', equals: 'text/html' },
    'Content-Type: expected "text/html", got "application/json"',
  ],
  [{ name: 'Content-Type', exists: false }, 'Content-Type: expected nothing, got "application/json"'],
  [{ name: 'X-Missing', exists: true }, 'X-Missing: expected a value, got no such header'],
  [{ name: 'X-Missing', exists: false }, null],
  [{ name: 'constructor', exists: false }, null],
  [{ name: 'Set-Cookie', contains: 'b=' }, null],
  [{ name: 'Set-Cookie', equals: 'c=3' }, 'Set-Cookie: expected "c=3", got "[hidden]", "[hidden]"'],
  [{ name: 'X-Name', equals: 'ü' }, null],
])('a condition about a header: %j', (condition, detail) => {
  const { errorDetail } = evaluate({ headers: HEADERS }, { headers: [condition] });
  expect(errorDetail).toBe(detail && `header ${detail}`);
});

test('a trial check shows what each assertion has seen', () => {
  const response = {
    ...COMPLETE,
    headers: HEADERS,
    body: JSON_BODY,
    certificateExpiresAt: day(40),
  };
  const outcomes = evaluateAssertions(response, {
    statusCodes: ['200-299'],
    headers: [{ name: 'Content-Type', contains: 'json' }],
    bodyNotContains: 'error',
    bodyMatches: 'deg',
    json: [{ path: '$.count', greaterThan: 5 }],
    maxLatency: 50,
    certificateMinDays: 14,
  });
  expect(outcomes.map(({ assertion, failure, seen }) => [assertion, failure, seen()])).toEqual([
    ['statusCodes', null, 'status 200'],
    ['headers.0', null, 'header Content-Type: got "application/json"'],
    ['bodyNotContains', null, 'body does not contain “error”'],
    ['bodyMatches', null, 'body matches /deg/'],
    ['json.0', null, 'JSON path $.count: got 12'],
    ['maxLatency', null, 'latency 20 ms'],
    ['certificateMinDays', null, 'certificate expires in 40 days'],
  ]);
});

test.each<[Assertions | null, boolean, boolean]>([
  [null, false, true],
  [{}, false, true],
  [{ statusCode: 200 }, false, true],
  [{ statusCode: 299 }, false, true],
  [{ statusCode: 300 }, false, false],
  [{ statusCode: 302 }, false, false],
  [{ statusCode: 399 }, false, false],
  [{ statusCode: 404 }, false, true],
  [{ statusCodes: [301, '307-308'] }, false, false],
  [{ statusCodes: [200, 301] }, false, true],
  [{ statusCodes: ['299-300'] }, false, true],
  [{ statusCodes: ['200-499'] }, false, true],
  [{ bodyContains: 'x' }, true, true],
  [{ bodyMatches: 'x' }, true, true],
  [{ json: [{ path: '$', exists: true }] }, true, true],
  [{ headers: [{ name: 'X', exists: true }] }, false, true],
  [{ bodyNotContains: 'x' }, true, true],
  [{ maxLatency: 5, certificateMinDays: 5 }, false, true],
])('%j: needs the body %s, follows redirects %s', (assertions, body, redirects) => {
  expect(needsBody(assertions)).toBe(body);
  expect(followsRedirects(assertions)).toBe(redirects);
});
