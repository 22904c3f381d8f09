import { expect, test } from '@jest/globals';
import { assert, constantFrom, property, string } from 'fast-check';
import { containsText } from './contains-text.ts';

test('finds what there is, and nothing else', () => {
  const letters = string({ unit: constantFrom('a', 'b'), maxLength: 20 });
  assert(
    property(letters, letters, letters, (before, wanted, after) => {
      // Long enough for the search of our own.
      const long = `${wanted}${'ab'.repeat(140)}`;
      expect(containsText(`${before}${long}${after}`, long)).toBe(true);
      const text = `${before}${after}${'ab'.repeat(140)}${before}`;
      expect(containsText(text, long)).toBe(text.includes(long));
    }),
  );
});

test('ends with the text, at its end and at the end of what is wanted', () => {
  const wanted = `${'a'.repeat(300)}b`;
  expect(containsText(wanted, wanted)).toBe(true);
  expect(containsText(`a${wanted}`, wanted)).toBe(true);
  expect(containsText(wanted.slice(0, -1), wanted)).toBe(false);
  expect(containsText('', wanted)).toBe(false);
  expect(containsText('', '')).toBe(true);
});

test('takes no seconds for a body that nearly matches everywhere', () => {
  const body = 'a'.repeat(1024 * 1024);
  const wanted = `${'a'.repeat(5_000)}b${'a'.repeat(4_999)}`;
  const startedAt = performance.now();
  for (let time = 0; time < 10; time += 1) expect(containsText(body, wanted)).toBe(false);
  // Some 0.1 s; by comparing at each place more than 15 s.
  expect(performance.now() - startedAt).toBeLessThan(8_000);
});
