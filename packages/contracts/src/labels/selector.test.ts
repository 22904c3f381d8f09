import { expect, test } from '@jest/globals';
import { toFieldErrors } from '../field-errors.ts';
import { LIMITS } from '../limits.ts';
import { type Selector, selectorSchema } from './selector.ts';
import { formatSelector, matchesSelector, parseSelector } from './selector-syntax.ts';

test.each([
  ['', true],
  ['app=shop', true],
  ['app=blog', false],
  ['team=a', false],
  ['app=shop,tier=web', true],
  ['app=shop,tier=api', false],
  ['canary=', true],
  ['team=', false],
  ['tier in (api,web)', true],
  ['tier in (api,db)', false],
  ['team in (a,b)', false],
  ['tier notin (api,db)', true],
  ['tier!=web', false],
  ['team!=a', true],
  ['canary', true],
  ['team', false],
  ['!team', true],
  ['!app', false],
  ['constructor', false],
  ['app=shop,!tier', false],
])('the selector %j matches: %s', (text, expected) => {
  expect(matchesSelector(parseSelector(text), { app: 'shop', tier: 'web', canary: '' })).toBe(expected);
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
  expect(toFieldErrors(error?.issues ?? [], selectorSchema)).toMatchObject([
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
  expect(toFieldErrors(error?.issues ?? [], selectorSchema)).toMatchObject([
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
