import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { z } from 'zod';
import { anyJson, FIELDS, FORMATS, hostileText, mostly, oneOf, resolveReferences } from './values.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;
type Values = fc.Arbitrary<unknown>;

/** Values inside, at and just outside the bounds of a schema. */
export function valuesOf(schema: z.ZodType): Values {
  return jsonValuesOf(toJsonSchema(schema));
}

export function fieldValuesOf(schema: z.ZodObject): Record<string, Values> {
  return fieldsOf(toJsonSchema(schema));
}

/** Objects whose fields are valid one by one. They may violate rules that relate fields. */
export function validValuesOf(schema: z.ZodObject): Values {
  const json = toJsonSchema(schema);
  const shape = Object.entries(schema.shape);
  const fields = shape.map(([name, given]): [string, Values] => {
    const field = given instanceof z.ZodOptional ? (given.unwrap() as z.ZodType) : given;
    if (field instanceof z.ZodArray && field.element instanceof z.ZodObject)
      return [name, fc.array(validValuesOf(field.element), { maxLength: 3 })];
    const values = jsonValuesOf(json.properties?.[name] as JsonSchema, name);
    return [name, values.filter((value) => accepts(field, value))];
  });
  return fc.record(Object.fromEntries(fields), { requiredKeys: json.required ?? [] });
}

/** Uses an arbitrary id for each reference. */
function accepts(schema: z.ZodType, value: unknown): boolean {
  const text = resolveReferences(JSON.stringify(value) ?? 'null', () => randomUUID());
  return schema.safeParse(JSON.parse(text)).success;
}

function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $defs = {}, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const inline = (node: JsonSchema): JsonSchema => {
    const text = JSON.stringify(node);
    return JSON.parse(text, (_, value: JsonSchema | null) => {
      const definition = $defs[value?.$ref?.replace('#/$defs/', '') ?? ''];
      return definition === undefined ? value : inline(definition);
    }) as JsonSchema;
  };
  return inline(json);
}

function jsonValuesOf(schema: JsonSchema, field = ''): Values {
  const { anyOf, enum: known, type } = schema;
  const variants = anyOf ?? (Array.isArray(type) ? type.map((each) => ({ ...schema, type: each })) : null);
  if (variants !== null) {
    const [first = anyJson, ...others] = variants.map((variant) => jsonValuesOf(variant, field));
    return mostly(first, ...others);
  }
  if (type === 'null') return fc.constant(null);
  if (Object.hasOwn(FIELDS, field)) return FIELDS[field] ?? anyJson;
  if (known !== undefined) return fc.constantFrom(...known);
  if (type === 'object') return fc.record(fieldsOf(schema), { requiredKeys: schema.required ?? [] });
  if (type === 'array') return arraysOf(jsonValuesOf((schema.items ?? {}) as JsonSchema));
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer' || type === 'number') return numbersOf(schema);
  return type === 'string' ? textsOf(schema) : anyJson;
}

function fieldsOf({ properties = {} }: JsonSchema): Record<string, Values> {
  const fields = Object.entries(properties);
  return Object.fromEntries(fields.map(([name, schema]) => [name, jsonValuesOf(schema as JsonSchema, name)]));
}

function arraysOf(values: Values): Values {
  const long = fc.tuple(values, fc.constantFrom(21, 500)).map(([value, count]) => Array(count).fill(value));
  return mostly<unknown>(fc.array(values, { maxLength: 3 }), long);
}

function numbersOf({ minimum: min = -1_000, maximum: max = 1_000 }: JsonSchema): Values {
  const bounds = fc.constantFrom(min - 1, min, min + 1, max - 1, max, max + 1, min + 0.5, -0, 0);
  return mostly(fc.integer({ min, max }), bounds);
}

const plainText = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 30 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  oneOf('Shop Größe 東京 עברית مراقبة 😀'),
);

function textsOf({ format = '', pattern, minLength: min = 0, maxLength = 1_000 }: JsonSchema): Values {
  if (Object.hasOwn(FORMATS, format)) return FORMATS[format] ?? anyJson;
  // fast-check cannot generate texts for assertions.
  const isShaped = pattern !== undefined && !/\(\?<?[=!]/.test(pattern);
  const shaped = isShaped ? fc.stringMatching(new RegExp(pattern, 'u')) : plainText;
  const max = Math.min(maxLength, 70_000);
  const lengths = [min - 1, min, min + 1, max - 1, max, max + 1].filter((length) => length >= 0);
  const padded = fc
    .tuple(fc.constantFrom(...lengths), oneOf('a ä 東 😀'))
    .map(([length, letter]) => letter.repeat(Math.ceil(length / letter.length)).slice(0, length));
  return mostly(shaped, padded, hostileText);
}
