import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { z } from 'zod';
import { anyJson, FIELDS, FORMATS, hostileText, mostly, resolveReferences } from './values.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** A schema as JSON Schema, as the OpenAPI document shows it. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

/**
 * Values for a JSON Schema: inside, at and just outside of its bounds. Refinements are not part of a JSON Schema, so the api refuses some of
 * the values that match it.
 * @param field the name of the property
 * @param root has the definitions that `$ref` names
 */
export function valuesOf(schema: JsonSchema, field = '', root = schema): fc.Arbitrary<unknown> {
  const { $ref, anyOf, enum: words, type } = schema;
  if ($ref !== undefined) return valuesOf(definitionOf(schema, root), field, root);
  if (anyOf !== undefined) return mostlyFirst(anyOf.map((each) => valuesOf(each, field, root)));
  if (Array.isArray(type))
    return mostlyFirst(type.map((each) => valuesOf({ ...schema, type: each }, field, root)));
  if (type === 'null') return fc.constant(null);
  const known = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
  if (known !== undefined) return known;
  if (words !== undefined) return fc.constantFrom(...words);
  if (type === 'object') return objectsOf(schema, root);
  if (type === 'array') return arraysOf(valuesOf((schema.items ?? {}) as JsonSchema, '', root));
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer' || type === 'number') return numbersOf(schema);
  return type === 'string' ? textsOf(schema) : anyJson;
}

/** Objects of which each field, taken alone, is valid. The rules between fields are left to the schema. */
export function validValuesOf(schema: z.ZodObject): fc.Arbitrary<unknown> {
  const json = toJsonSchema(schema);
  const shape = schema.shape as Readonly<Record<string, z.ZodType>>;
  return objectsOf(definitionOf(json, json), json, (values, name) => {
    const field = shape[name];
    if (field === undefined) return values;
    if (field instanceof z.ZodArray && field.element instanceof z.ZodObject)
      return fc.array(validValuesOf(field.element), { maxLength: 3 });
    return values.filter((value) => accepts(field, value));
  });
}

/** Any id stands in for a reference. */
function accepts(schema: z.ZodType, value: unknown): boolean {
  const text = resolveReferences(JSON.stringify(value) ?? 'null', () => randomUUID());
  return schema.safeParse(JSON.parse(text)).success;
}

function definitionOf(schema: JsonSchema, { $defs = {} }: JsonSchema): JsonSchema {
  return schema.$ref === undefined ? schema : ($defs[schema.$ref.replace('#/$defs/', '')] ?? {});
}

function mostlyFirst([first = anyJson, ...others]: readonly fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown> {
  return mostly(first, ...others);
}

function objectsOf(
  schema: JsonSchema,
  root: JsonSchema,
  change: (values: fc.Arbitrary<unknown>, name: string) => fc.Arbitrary<unknown> = (values) => values,
): fc.Arbitrary<unknown> {
  const values = Object.entries(fieldsOf(schema, root)).map(
    ([name, values]) => [name, change(values, name)] as const,
  );
  return fc.record(Object.fromEntries(values), { requiredKeys: schema.required ?? [] });
}

/** Values for each field of an object, by its name. */
export function fieldValuesOf(schema: z.ZodObject): Record<string, fc.Arbitrary<unknown>> {
  const json = toJsonSchema(schema);
  return fieldsOf(definitionOf(json, json), json);
}

function fieldsOf({ properties = {} }: JsonSchema, root: JsonSchema): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, valuesOf(schema as JsonSchema, name, root)]),
  );
}

function arraysOf(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const long = fc.tuple(values, fc.constantFrom(21, 500)).map(([value, count]) => Array(count).fill(value));
  return mostly<unknown>(fc.array(values, { maxLength: 3 }), long);
}

function numbersOf({ minimum: min = -1_000, maximum: max = 1_000 }: JsonSchema): fc.Arbitrary<unknown> {
  const bounds = fc.constantFrom(min - 1, min, min + 1, max - 1, max, max + 1, min + 0.5, -0, 0);
  return mostly(fc.integer({ min, max }), bounds);
}

/** Text as people write it, in every script. */
const plainText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 30 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom('Shop', 'Größe', '東京', 'עברית', 'مراقبة', '😀'),
);

function textsOf({
  format,
  pattern,
  minLength: min = 0,
  maxLength = 1_000,
}: JsonSchema): fc.Arbitrary<unknown> {
  const known = format === undefined ? undefined : FORMATS[format];
  if (known !== undefined) return known;
  if (pattern !== undefined) return mostly(fc.stringMatching(new RegExp(pattern, 'u')), hostileText);
  const max = Math.min(maxLength, 70_000);
  const lengths = [min - 1, min, min + 1, max - 1, max, max + 1].filter((length) => length >= 0);
  const padded = fc
    .tuple(fc.constantFrom(...lengths), fc.constantFrom('a', 'ä', '東', '😀'))
    .map(([length, letter]) => letter.repeat(Math.ceil(length / letter.length)).slice(0, length));
  return mostly(plainText, padded, hostileText);
}
