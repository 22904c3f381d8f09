import { expect, test } from '@jest/globals';
import { toFieldErrors } from '../field-errors.ts';
import { labelsSchema } from './selector.ts';

function errorsOf(labels: unknown): string[] {
  const { error } = labelsSchema.safeParse(labels);
  return toFieldErrors(error?.issues ?? [], labelsSchema).map(({ path, message }) => `${path}: ${message}`);
}

test.each([
  ['no labels', {}],
  ['a name', { app: 'shop' }],
  ['an empty value', { canary: '' }],
  ['all characters', { 'A-b_c.9': 'Z-y_x.0' }],
  ['a prefix', { 'example.com/tier': 'web' }],
  ['a key that objects inherit', { constructor: 'x', toString: 'y' }],
  ['the longest key and value', { [`${'a'.repeat(253)}/${'b'.repeat(63)}`]: 'c'.repeat(63) }],
  ['32 labels', Object.fromEntries(Array.from({ length: 32 }, (_, index) => [`l${index}`, '']))],
])('accepts %s', (_name, labels) => {
  expect(errorsOf(labels)).toEqual([]);
  expect(labelsSchema.parse(labels)).toEqual(labels);
});

test.each([
  ['a list', ['app'], /^: must be an object of label keys and string values$/],
  ['an empty key', { '': 'x' }, /^: the key must be 1 to 63 letters, digits/],
  ['a key that is too long', { ['a'.repeat(64)]: 'x' }, /: the key must be 1 to 63/],
  ['a hyphen at the end of a key', { 'app-': 'x' }, /^app-: the key must be 1 to 63/],
  ['two slashes', { 'a/b/c': 'x' }, /^a\/b\/c: the key must be 1 to 63/],
  [
    'a prefix with capitals',
    { 'Example.com/a': 'x' },
    /the key must have a DNS name of at most 253 characters/,
  ],
  ['an empty prefix', { '/a': 'x' }, /the key must have a DNS name/],
  ['a prefix that is too long', { [`${'a'.repeat(254)}/b`]: 'x' }, /the key must have a DNS name/],
  ['a number', { app: 1 }, /^app: must be a string$/],
  ['a value with a space', { app: 'my shop' }, /^app: must be empty, or at most 63 letters/],
  ['a value that is too long', { app: 'a'.repeat(64) }, /^app: must be empty, or at most 63/],
  ['a dot at the end of a value', { app: 'a.' }, /^app: must be empty/],
])('rejects %s', (_name, labels, message) => {
  expect(errorsOf(labels)).toEqual([expect.stringMatching(message)]);
});

test('rejects 33 labels', () => {
  const labels = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`l${index}`, '']));
  expect(errorsOf(labels)).toEqual([': must contain at most 32 labels']);
  const invalid = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`l ${index}`, '']));
  expect(errorsOf(invalid)).toEqual([': must contain at most 32 labels']);
});
