import { expect, test } from '@jest/globals';
import { HiddenValues } from './write-monitors.ts';

type Field = [externalId: string, path: [string, ...string[]]];

const FIELD: Field = ['shop-front', ['headers', 'X']];

/** The variables of these fields in one file. */
function variablesOf(...fields: Field[]): string[] {
  const hidden = new HiddenValues('shop');
  return fields.map(([externalId, path], index) => hidden.hide(externalId, path, `value ${index}`));
}

test.each<Field>([
  ['shop', ['headers', 'front-X']],
  ['shop_front', ['headers', 'X']],
  ['shop-front-x', ['body']],
  ['SHOP-front', ['headers', 'X']],
])('the field of %s %j does not share or change the variable of another', (...other) => {
  const [one, same] = variablesOf(other, FIELD);
  expect(same).toBe(variablesOf(FIELD)[0]);
  expect(one).not.toBe(same);
});

test.each<[string, Field, Field]>([
  ['a header named like a field', ['a', ['headers', 'body']], ['a', ['body']]],
  [
    'names of which 32 bits of the hash agree',
    ['ShOP-FrOnt-ChecKOUt-page', ['headers', 'X']],
    ['SHOP-frONt-cHeCKOUt-page', ['headers', 'X']],
  ],
])('variables differ for %s', (_, ...fields) => {
  expect(new Set(variablesOf(...fields)).size).toBe(2);
});

test('variables differ for two sources', () => {
  expect(new HiddenValues('other').hide('shop-front', ['headers', 'X'], 'x')).not.toBe(variablesOf(FIELD)[0]);
});

test('a variable that already stands for another value is an error', () => {
  const hidden = new HiddenValues('shop');
  hidden.hide('shop-front', ['headers', 'X'], 'secret');
  expect(() => hidden.hide('shop-front', ['headers', 'X'], 'other')).toThrow(
    /^The variable \w+ already stands for another value, so it cannot stand for headers\.X of monitor shop-front\./,
  );
});
