import { describe, expect, test } from '@jest/globals';
import type { Assertions } from '@tocsin/contracts/monitors/monitor';
import {
  type CheckedResponse,
  followsRedirects,
  type ResponseVerdict,
  evaluateResponse,
  needsBody,
  statusPasses,
} from './assertions.ts';

const NOW = new Date('2026-11-01T00:00:00.000Z');
const UP: ResponseVerdict = { status: 'UP', errorReason: null, errorDetail: null };

function evaluate(response: Partial<CheckedResponse>, assertions: Assertions | null = null): ResponseVerdict {
  const complete = { statusCode: 200, body: null, latencyMs: 20, certificateExpiresAt: null, now: NOW };
  return evaluateResponse({ ...complete, ...response }, assertions);
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

test.each<[Assertions | null, boolean, boolean]>([
  [null, false, true],
  [{}, false, true],
  [{ statusCode: 200 }, false, true],
  [{ statusCode: 299 }, false, true],
  [{ statusCode: 300 }, false, false],
  [{ statusCode: 302 }, false, false],
  [{ statusCode: 399 }, false, false],
  [{ statusCode: 404 }, false, true],
  [{ bodyContains: 'x' }, true, true],
  [{ bodyNotContains: 'x' }, true, true],
  [{ maxLatency: 5, certificateMinDays: 5 }, false, true],
])('%j: needs the body %s, follows redirects %s', (assertions, body, redirects) => {
  expect(needsBody(assertions)).toBe(body);
  expect(followsRedirects(assertions)).toBe(redirects);
});
