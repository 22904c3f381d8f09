import { expect, test } from '@jest/globals';
import { CliError } from '../terminal/cli-error.ts';
import { HiddenValues } from './write-monitors.ts';

function variablesOf(monitor: string): string[] {
  const hidden = new HiddenValues('shop');
  hidden.hide(monitor, ['headers', 'X'], 'secret');
  return [...hidden.variables.keys()];
}

test('another monitor never changes the variable of a monitor', () => {
  const alone = new HiddenValues('shop').hide('shop-front', ['headers', 'X'], 'secret');
  const hidden = new HiddenValues('shop');
  const others = [
    hidden.hide('shop', ['headers', 'front-X'], 'a'),
    hidden.hide('shop_front', ['headers', 'X'], 'b'),
    hidden.hide('shop-front-x', ['body'], 'c'),
  ];
  expect(hidden.hide('shop-front', ['headers', 'X'], 'secret')).toBe(alone);
  expect(new Set([alone, ...others]).size).toBe(4);
  expect(new HiddenValues('other').hide('shop-front', ['headers', 'X'], 'secret')).not.toBe(alone);
});

test('monitors whose names differ only in case have variables of their own, also if 32 bits of the hash agree', () => {
  const hidden = new HiddenValues('shop');
  const variables = ['ShOP-FrOnt-ChecKOUt-page', 'SHOP-frONt-cHeCKOUt-page'].map((monitor) =>
    hidden.hide(monitor, ['headers', 'X'], monitor),
  );
  expect(new Set(variables).size).toBe(2);
  expect([...hidden.variables.values()]).toEqual(['ShOP-FrOnt-ChecKOUt-page', 'SHOP-frONt-cHeCKOUt-page']);
});

test('a variable that stands for another value already is an error, and keeps its value', () => {
  const [variable = ''] = variablesOf('shop-front');
  const hidden = new HiddenValues('shop');
  hidden.variables.set(variable, 'other');
  expect(() => hidden.hide('shop-front', ['headers', 'X'], 'secret')).toThrow(
    new CliError(
      `The variable ${variable} already stands for another value, so it cannot stand for headers.X of monitor shop-front. Change the externalId of one monitor, or pass --secrets.`,
    ),
  );
  expect(hidden.variables.get(variable)).toBe('other');
});

test('a header and a field of the same name have two variables', () => {
  const hidden = new HiddenValues('shop');
  expect(hidden.hide('a', ['headers', 'body'], 'x')).not.toBe(hidden.hide('a', ['body'], 'x'));
});
