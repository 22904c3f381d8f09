import { expect, test } from '@jest/globals';
import { describeCause, formatLatency, formatSpan, formatUtcSpan, listNames } from './format.ts';

test.each([
  ['2026-03-01T13:00:00.000Z', '2026-03-01 12:00 to 13:00 UTC'],
  ['2026-03-02T00:00:00.000Z', '2026-03-01 12:00 to 2026-03-02 00:00 UTC'],
])('formats a span until %s as %s', (until, text) => {
  expect(formatUtcSpan(new Date('2026-03-01T12:00:00.000Z'), new Date(until))).toBe(text);
});

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [1_240, '1.24 s'],
  [1_500, '1.5 s'],
  [10_000, '10 s'],
  [12_340, '12.3 s'],
  [60_000, '60 s'],
])('formats %d ms as %s', (ms, text) => {
  expect(formatLatency(ms)).toBe(text);
});

test.each([
  ['UNKNOWN_ERROR', 'the certificate expired 3 days ago', 'The certificate expired 3 days ago'],
  ['HTTP_503', 'expected status 200, got 503', 'Expected status 200, got 503'],
  ['TIMEOUT', null, 'Timed out'],
  ['HTTP_503', null, 'The status code was 503'],
  ['UNKNOWN_ERROR', '', 'Failed without a recorded cause'],
  [null, null, 'No cause recorded'],
] as const)('describes %s with the detail %j as "%s"', (cause, detail, text) => {
  expect(describeCause(cause, detail)).toBe(text);
});

test.each([
  [0.5, 2, '0 s'],
  [59, 2, '59 s'],
  [187_200, 2, '2 d 4 h'],
  [86_430, 2, '1 d'],
  [86_430, 4, '1 d 30 s'],
  [95_400, 4, '1 d 2 h 30 min'],
])('formats %d s in %d units as %s', (seconds, units, text) => {
  expect(formatSpan(seconds, units)).toBe(text);
});

test('listNames shows a few names and counts the rest', () => {
  expect(listNames([])).toBe('');
  expect(listNames(['a'])).toBe('a');
  expect(listNames(['a', 'b', 'c'])).toBe('a, b and c');
  expect(listNames(['a', 'b', 'c', 'd', 'e'])).toBe('a, b, c and 2 more');
});
