import { describe, expect, test } from '@jest/globals';
import { toFieldErrors } from '../field-errors.ts';
import { LIMITS } from '../limits.ts';
import { type Selector, selectorSchema } from './selector.ts';
import { formatSelector, matchesSelector, parseSelector } from './selector-syntax.ts';

const SHOP = { app: 'shop', tier: 'web', canary: '' };

describe('matchesSelector', () => {
  test.each<[string, Selector, boolean]>([
    ['an empty selector', {}, true],
    ['empty conditions', { matchLabels: {}, matchExpressions: [] }, true],
    ['an equal label', { matchLabels: { app: 'shop' } }, true],
    ['another value', { matchLabels: { app: 'blog' } }, false],
    ['a missing label', { matchLabels: { team: 'a' } }, false],
    ['two labels', { matchLabels: { app: 'shop', tier: 'web' } }, true],
    ['one of two labels', { matchLabels: { app: 'shop', tier: 'api' } }, false],
    ['an empty value', { matchLabels: { canary: '' } }, true],
    ['an empty value for a missing label', { matchLabels: { team: '' } }, false],
    ['In', { matchExpressions: [{ key: 'tier', operator: 'In', values: ['api', 'web'] }] }, true],
    ['In without the value', { matchExpressions: [{ key: 'tier', operator: 'In', values: ['api'] }] }, false],
    ['In without the label', { matchExpressions: [{ key: 'team', operator: 'In', values: ['a'] }] }, false],
    ['NotIn', { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['api'] }] }, true],
    [
      'NotIn with the value',
      { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['web'] }] },
      false,
    ],
    [
      'NotIn without the label',
      { matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['a'] }] },
      true,
    ],
    ['Exists', { matchExpressions: [{ key: 'canary', operator: 'Exists' }] }, true],
    ['Exists without the label', { matchExpressions: [{ key: 'team', operator: 'Exists' }] }, false],
    ['DoesNotExist', { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] }, true],
    ['DoesNotExist with the label', { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }, false],
    ['a key that objects inherit', { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] }, false],
    [
      'labels and expressions',
      { matchLabels: { app: 'shop' }, matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] },
      false,
    ],
  ])('%s', (_name, selector, expected) => {
    expect(matchesSelector(selectorSchema.parse(selector), SHOP)).toBe(expected);
  });
});

test.each([
  [{ matchLabels: { app: 1 } }, 'matchLabels.app', /^must be a string$/],
  [{ matchLabel: {} }, 'matchLabel', /is not a known field \(did you mean `matchLabels`\?\)/],
  [{ matchExpressions: [{ key: '-', operator: 'Exists' }] }, 'matchExpressions.0.key', /^must be 1 to 63/],
  [{ matchExpressions: [{ key: 'a', operator: 'in' }] }, 'matchExpressions.0.operator', /In, NotIn, Exists/],
  [
    { matchExpressions: [{ key: 'a', operator: 'In' }] },
    'matchExpressions.0.values',
    /^must contain a value for In$/,
  ],
  [
    { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
    'matchExpressions.0.values',
    /^must be empty for Exists$/,
  ],
])('selectorSchema rejects %j', (selector, path, message) => {
  const { error } = selectorSchema.safeParse(selector);
  expect(toFieldErrors(error?.issues ?? [], selectorSchema)).toEqual([
    { path, message: expect.stringMatching(message) },
  ]);
});

test('selectorSchema rejects too many values in all conditions together', () => {
  const values = Array.from({ length: LIMITS.selectorValues }, (_, index) => `v${index}`);
  const condition = { key: 'app', operator: 'In', values };
  expect(selectorSchema.safeParse({ matchExpressions: [condition] }).success).toBe(true);
  const { error } = selectorSchema.safeParse({
    matchExpressions: [condition, { ...condition, values: ['x'] }],
  });
  expect(toFieldErrors(error?.issues ?? [], selectorSchema)).toEqual([
    { path: 'matchExpressions', message: 'must contain at most 200 values in all conditions together' },
  ]);
});

const In = 'In';
const NotIn = 'NotIn';

test.each<[string, Selector, string?]>([
  ['', {}],
  ['app=shop', { matchLabels: { app: 'shop' } }],
  [' app == shop ', { matchLabels: { app: 'shop' } }, 'app=shop'],
  ['app=', { matchLabels: { app: '' } }],
  ['app=shop,tier=web', { matchLabels: { app: 'shop', tier: 'web' } }],
  ['app!=shop', { matchExpressions: [{ key: 'app', operator: NotIn, values: ['shop'] }] }],
  [
    'app in (shop, blog)',
    { matchExpressions: [{ key: 'app', operator: In, values: ['shop', 'blog'] }] },
    'app in (shop,blog)',
  ],
  [
    'app notin (shop,blog)',
    { matchExpressions: [{ key: 'app', operator: NotIn, values: ['shop', 'blog'] }] },
  ],
  ['in in (in)', { matchLabels: { in: 'in' } }, 'in=in'],
  ['example.com/app', { matchExpressions: [{ key: 'example.com/app', operator: 'Exists' }] }],
  ['!app', { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }],
  [
    'app=a,app=b',
    { matchLabels: { app: 'a' }, matchExpressions: [{ key: 'app', operator: In, values: ['b'] }] },
    'app=a,app in (b)',
  ],
])('parseSelector reads %j, and formatSelector writes it', (text, selector, formatted = text) => {
  expect(parseSelector(text)).toEqual(selector);
  expect(selectorSchema.parse(selector)).toEqual(selector);
  expect(formatSelector(selector)).toBe(formatted);
  expect(parseSelector(formatted)).toEqual(selector);
});

test.each([
  [',', /unexpected "," where a key should be/],
  ['app=shop,', /ends too early where a key should be/],
  ['app=shop tier=web', /unexpected "tier"/],
  ['app shop', /unexpected "shop"/],
  ['!app=shop', /unexpected "="/],
  ['app in shop', /unexpected "shop"/],
  ['app in (shop', /ends too early/],
  ['app in (shop blog)', /unexpected "blog"/],
  ['app)', /unexpected "\)"/],
  ['=shop', /unexpected "=" where a key should be/],
  ['-app=shop', /^"-app" is not a valid key: it must be 1 to 63/],
  ['app=sh+op', /^"sh\+op" is not a valid value: it must be empty, or/],
])('parseSelector rejects %j', (text, message) => {
  expect(() => parseSelector(text)).toThrow(expect.objectContaining({ name: 'SelectorSyntaxError' }));
  expect(() => parseSelector(text)).toThrow(message);
});
