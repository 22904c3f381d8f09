import { expect, test } from '@jest/globals';
import { describeCause, formatLatency, formatUtcSpan } from './format.ts';

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
  ['TIMEOUT', 'Timed out'],
  ['HTTP_503', 'HTTP 503'],
  ['UNKNOWN_ERROR', 'Check failed'],
  [null, 'Unknown cause'],
] as const)('describes %s as "%s"', (cause, text) => {
  expect(describeCause(cause)).toBe(text);
});
