import * as fc from 'fast-check';

/** Texts that mean something to JSON, URLs, SQL, headers, prototypes, terminals or storage. */
const HOSTILE_TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
  '\ufeff',
  '\u202e',
  '\u2028',
  'İ',
  'ß'.repeat(200),
  '😀'.repeat(130),
  '👨‍👩‍👧‍👦',
  'e\u0301'.repeat(128),
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'null',
  'undefined',
  'NaN',
  '1e309',
  '-0',
  "'; drop table monitors; --",
  '" or ""="',
  '%00',
  '%',
  '../../etc/passwd',
  '{}',
  '[]',
  '\r\nX-Injected: 1',
  '<script>alert(1)</script>',
  '${7*7}',
  '\x1b[31m',
  'a'.repeat(255),
  'a'.repeat(256),
  'a'.repeat(10_001),
  'a'.repeat(70_000),
] as const;

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((c) => String.fromCharCode(c)) }),
  },
);

/** Text as people write it, in every script. */
const plainText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 30 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom('Shop', 'Größe', '東京', 'עברית', 'مراقبة', '😀'),
);

/** Text of about these lengths, and a little outside of them. */
export function textOf(min: number, max: number): fc.Arbitrary<string> {
  const most = Math.min(max, 70_000);
  const lengths = fc
    .constantFrom(min - 1, min, min + 1, most - 1, most, most + 1)
    .filter((length) => length >= 0);
  const padded = fc
    .tuple(lengths, fc.constantFrom('a', 'ä', '東', '😀'))
    .map(([length, letter]) => letter.repeat(Math.ceil(length / letter.length)).slice(0, length));
  return fc.oneof(
    { weight: 6, arbitrary: plainText },
    { weight: 1, arbitrary: padded },
    { weight: 1, arbitrary: hostileText },
  );
}
