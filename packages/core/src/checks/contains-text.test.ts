import { expect, jest, test } from '@jest/globals';
import { fc } from '../testing/fast-check.ts';
import { containsText } from './contains-text.ts';

test('finds exactly the texts that are contained', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 20 });
  fc.assert(
    fc.property(letters, letters, letters, (before, wanted, after) => {
      // Long enough for the linear search.
      const long = `${wanted}${'ab'.repeat(140)}`;
      expect(containsText(`${before}${long}${after}`, long)).toBe(true);
      const text = `${before}${after}${'ab'.repeat(140)}${before}`;
      expect(containsText(text, long)).toBe(text.includes(long));
    }),
  );
});

test('finds a text at the end, and stops at the end of the body', () => {
  const wanted = `${'a'.repeat(300)}b`;
  expect(containsText(wanted, wanted)).toBe(true);
  expect(containsText(`a${wanted}`, wanted)).toBe(true);
  expect(containsText(wanted.slice(0, -1), wanted)).toBe(false);
  expect(containsText('', wanted)).toBe(false);
  expect(containsText('', '')).toBe(true);
});

test('reads a body with near matches everywhere a bounded number of times', () => {
  const body = 'a'.repeat(10_000);
  const wanted = `${'a'.repeat(1_000)}b${'a'.repeat(999)}`;
  const reads = jest.spyOn(String.prototype, 'charCodeAt');
  // A search by V8 may take as many steps as the product of the lengths, so it must only get short texts.
  const searches = [jest.spyOn(String.prototype, 'includes'), jest.spyOn(String.prototype, 'indexOf')];
  const found = containsText(body, wanted);
  const readCount = reads.mock.calls.length;
  const longest = Math.max(...searches.flatMap(({ mock }) => mock.calls.map(([text]) => text.length)));
  jest.restoreAllMocks();
  expect(found).toBe(false);
  expect(readCount).toBeGreaterThan(body.length);
  expect(readCount).toBeLessThan(5 * (body.length + wanted.length));
  expect(longest).toBeLessThanOrEqual(250);
});
