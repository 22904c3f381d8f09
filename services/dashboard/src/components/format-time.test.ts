import { expect, test } from '@jest/globals';
import { formatUtcSpan } from './format-time.ts';

test.each([
  ['2026-03-01T13:00:00.000Z', '2026-03-01 12:00 to 13:00 UTC'],
  ['2026-03-02T00:00:00.000Z', '2026-03-01 12:00 to 2026-03-02 00:00 UTC'],
])('a span until %s is %s', (until, text) => {
  expect(formatUtcSpan(new Date('2026-03-01T12:00:00.000Z'), new Date(until))).toBe(text);
});
