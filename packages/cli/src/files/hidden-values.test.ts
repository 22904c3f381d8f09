import { expect, test } from '@jest/globals';
import { HiddenValues } from './hidden-values.ts';

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

test('a header and a field of the same name have two variables', () => {
  const hidden = new HiddenValues('shop');
  expect(hidden.hide('a', ['headers', 'body'], 'x')).not.toBe(hidden.hide('a', ['body'], 'x'));
});
