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
  });

  test.each([
    [100, 'HTTP_100'],
    [101, 'HTTP_101'],
    [199, 'HTTP_199'],
    [400, 'HTTP_400'],
    [404, 'HTTP_404'],
    [503, 'HTTP_503'],
    [600, 'HTTP_600'],
    [999, 'HTTP_999'],
    [0, 'UNKNOWN_ERROR'],
    [99, 'UNKNOWN_ERROR'],
  ])('%d is %s without an assertion', (statusCode, errorReason) => {
    const errorDetail = `expected a status from 200 to 399, got ${statusCode}`;
    expect(evaluate({ statusCode })).toEqual({ status: 'DOWN', errorReason, errorDetail });
  });

  test.each([
    [503, 503, null],
    [404, 404, null],
    [301, 301, null],
    [200, 204, 'HTTP_200'],
    [204, 200, 'HTTP_204'],
    [302, 200, 'HTTP_302'],
  ])('%d when %d is asserted', (statusCode, asserted, errorReason) => {
    const verdict = evaluate({ statusCode }, { statusCode: asserted });
    expect(verdict.errorReason).toBe(errorReason);
    if (errorReason !== null)
      expect(verdict.errorDetail).toBe(`expected status ${asserted}, got ${statusCode}`);
  });

  test('is checked before every other assertion', () => {
    const verdict = evaluate(
      { statusCode: 500, body: '', latencyMs: 900 },
      { bodyContains: 'ok', maxLatency: 1 },
    );
    expect(verdict.errorReason).toBe('HTTP_500');
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
    ['long-lived', { certificateExpiresAt: day(14) }, { certificateMinDays: 14 }, null],
    [
      'a moment short',
      { certificateExpiresAt: day(14, -1) },
      { certificateMinDays: 14 },
      'certificate expires in 13 days, below the minimum of 14 days',
    ],
    [
      'hours left',
      { certificateExpiresAt: day(1, 1) },
      { certificateMinDays: 2 },
      'certificate expires in 24 hours, below the minimum of 2 days',
    ],
    [
      'expired while it was in use',
      { certificateExpiresAt: day(0, -1) },
      { certificateMinDays: 1 },
      'certificate expired, below the minimum of 1 day',
    ],
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

  test('a long text is quoted in part, on one line', () => {
    const { errorDetail } = evaluate({ body: '' }, { bodyContains: `a\nb${'x'.repeat(9_000)}` });
    expect(errorDetail).toBe(`body does not contain “a b${'x'.repeat(77)}…”`);
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

test('statusPasses agrees with evaluateResponse', () => {
  for (let statusCode = 0; statusCode < 1_000; statusCode += 1) {
    for (const assertions of [null, {}, { statusCode: 302 }]) {
      expect(evaluate({ statusCode }, assertions).status === 'UP').toBe(statusPasses(statusCode, assertions));
    }
  }
});
