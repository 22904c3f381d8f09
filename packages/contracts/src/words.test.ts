import { expect, test } from '@jest/globals';
import { asciiWords } from './words.ts';

test.each([
  ['Shop: Frönt', '-', 'shop-front'],
  ['  X-Api-Key ', '_', 'x_api_key'],
  ['日本', '-', ''],
  ['a'.repeat(9) + ' b', '-', 'aaaaaaaaa'],
] as const)('the words of %j joined with %j are %j', (text, between, words) => {
  expect(asciiWords(text, between, 10)).toBe(words);
});
