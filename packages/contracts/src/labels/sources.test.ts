import { expect, test } from '@jest/globals';
import { isSourceAllowed } from './sources.ts';

test.each([
  [null, 'shop', true],
  [null, null, true],
  [[], 'shop', false],
  [['shop'], 'shop', true],
  [['shop'], 'shop/api', false],
  [['shop'], 'sho', false],
  [['shop'], null, false],
  [['shop/*'], 'shop/api', true],
  [['shop/*'], 'shop/', true],
  [['shop/*'], 'shop', false],
  [['blog', 'shop*'], 'shopping', true],
  [['*'], 'any', true],
  [['*'], null, false],
  [['a*b'], 'a*b', true],
  [['a*b'], 'axb', false],
] as const)('the sources %j allow %j: %s', (sources, source, expected) => {
  expect(isSourceAllowed(sources, source)).toBe(expected);
});
