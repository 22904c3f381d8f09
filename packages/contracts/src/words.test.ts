import { expect, test } from '@jest/globals';
import { asciiWords, nearestWord, secretVariable } from './words.ts';

test.each([
  ['Shop: Frönt', '-', 'shop-front'],
  ['  X-Api-Key ', '_', 'x_api_key'],
  ['日本', '-', ''],
  ['a'.repeat(9) + ' b', '-', 'aaaaaaaaa'],
] as const)('the words of %j joined with %j are %j', (text, between, words) => {
  expect(asciiWords(text, between, 10)).toBe(words);
});

test.each([
  ['failure_threshold', 'failureThreshold'],
  ['URL', 'url'],
  ['intervalSeconds', 'interval'],
  ['asertion', 'assertions'],
  ['intreval', 'interval'],
  ['intrevla', null],
  ['urls', 'url'],
  ['earls', null],
  ['u', null],
  ['color', null],
  [`interval${'s'.repeat(56)}`, 'interval'],
  [`interval${'s'.repeat(57)}`, null],
])('the known word that %j means is %j', (given, expected) => {
  expect(nearestWord(given, ['url', 'interval', 'failureThreshold', 'assertions'])).toBe(expected);
});

test.each([
  ['Shop: Authorization', '1f', 'TOCSIN_SECRET_SHOP_AUTHORIZATION_1F'],
  ['日本', '1f', 'TOCSIN_SECRET_1F'],
  ['a'.repeat(201), '1f', `TOCSIN_SECRET_${'A'.repeat(200)}_1F`],
])('the variable for a secret of %j', (words, digits, variable) => {
  expect(secretVariable(words, digits)).toBe(variable);
});
