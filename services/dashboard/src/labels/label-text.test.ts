import { expect, test } from '@jest/globals';
import { findLabelError, keysOf, toLabels } from './label-text.ts';
import { readSelector, withLabel } from './selector-text.ts';

test('readSelector tells a blank text from an invalid one', () => {
  expect(readSelector('  ')).toEqual({ selector: null, error: null });
  expect(readSelector('app=shop')).toEqual({ selector: { matchLabels: { app: 'shop' } }, error: null });
  expect(readSelector('app in shop')).toEqual({
    selector: null,
    error: expect.stringMatching(/unexpected "shop"/),
  });
});

test.each([
  ['', 'app=shop'],
  ['team=a', 'team=a,app=shop'],
  ['app=blog,!old', 'app=shop,!old'],
  ['app in (blog', 'app=shop'],
])('withLabel adds app=shop to %j', (text, expected) => {
  expect(withLabel(text, 'app', 'shop')).toBe(expected);
});

test('toLabels reads keys with and without values', () => {
  expect(toLabels(['app=shop', ' tier = web', 'canary', 'a=b=c'])).toEqual({
    app: 'shop',
    tier: 'web',
    canary: '',
    a: 'b=c',
  });
});

test.each([
  [[], null],
  [['app=shop', 'canary'], null],
  [['app=shop', 'app=blog'], /^app: is given twice$/],
  [['app=my shop'], /^app: must be empty, or at most 63/],
  [['-app=shop'], /^-app: the key must be/],
])('findLabelError of %j', (texts, message) => {
  const error = findLabelError(texts);
  if (message === null) expect(error).toBeNull();
  else expect(error).toMatch(message);
});

test('keysOf names each key once', () => {
  expect(keysOf([{ labels: { tier: 'web', app: 'a' } }, { labels: {} }, { labels: { app: 'b' } }])).toEqual([
    'app',
    'tier',
  ]);
});
