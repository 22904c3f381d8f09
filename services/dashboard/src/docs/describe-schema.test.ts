import { expect, test } from '@jest/globals';
import { fieldsOf, typeOf } from './describe-schema.ts';
import type { OpenApi, Schema } from './open-api.ts';

const DOCUMENT: OpenApi = {
  info: { title: 'Tocsin', version: '1' },
  paths: {},
  components: {
    schemas: {
      Monitor: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string', minLength: 1, maxLength: 255, description: 'What people call it.' },
          interval: { type: 'integer', minimum: 5, maximum: 86_400, default: 60 },
          assertions: { anyOf: [{ $ref: '#/components/schemas/Assertions' }, { type: 'null' }] },
        },
      },
      Assertions: {
        type: 'object',
        properties: { statusCode: { type: 'integer', maximum: Number.MAX_SAFE_INTEGER } },
      },
      Tree: { type: 'object', properties: { branch: { $ref: '#/components/schemas/Tree' } } },
    },
  },
};
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

test('a field has its type, its meaning and its bounds', () => {
  const [name, interval] = fieldsOf(DOCUMENT, ref('Monitor'));
  expect(name).toEqual({
    name: 'name',
    type: 'string',
    required: true,
    description: 'What people call it.',
    rules: ['1 to 255 characters'],
    fields: [],
  });
  expect(interval).toMatchObject({ required: false, rules: ['5 to 86,400', 'default 60'] });
});

test('the fields of an object that may be null are within it, without bounds that are none', () => {
  const assertions = fieldsOf(DOCUMENT, ref('Monitor'))[2];
  expect(assertions).toMatchObject({
    type: 'Assertions or null',
    fields: [{ name: 'statusCode', type: 'integer', rules: [] }],
  });
});

test('a list has the fields of its entries', () => {
  const list: Schema = { type: 'array', items: ref('Assertions') };
  expect(typeOf(DOCUMENT, list)).toBe('list of Assertions');
  expect(fieldsOf(DOCUMENT, list).map(({ name }) => name)).toEqual(['statusCode']);
});

test('of alternatives all fields are named, and only those that all have to have are required', () => {
  const either: Schema = {
    oneOf: [
      { type: 'object', required: ['kind', 'at'], properties: { kind: {}, at: {} } },
      { type: 'object', required: ['kind'], properties: { kind: {}, every: {} } },
    ],
  };
  expect(fieldsOf(DOCUMENT, either).map(({ name, required }) => [name, required])).toEqual([
    ['kind', true],
    ['at', false],
    ['every', false],
  ]);
});

test('a schema that holds itself comes to an end', () => {
  expect(JSON.stringify(fieldsOf(DOCUMENT, ref('Tree'))).match(/branch/g)).toHaveLength(4);
});

test.each<[Schema, string]>([
  [{ type: ['string', 'null'] }, 'string or null'],
  [{ type: 'string', format: 'date-time' }, 'date-time'],
  [{ const: 'HTTP' }, '"HTTP"'],
  [{}, 'any'],
])('%j is called %s', (schema, words) => {
  expect(typeOf(DOCUMENT, schema)).toBe(words);
});
