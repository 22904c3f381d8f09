import { z } from 'zod';

type Schema = Readonly<Record<string, unknown>>;

/** Keywords that have the same meaning in the schema of a CustomResourceDefinition. */
const COPIED = [
  'description',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'required',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
] as const;

/**
 * Converts a schema to a structural OpenAPI schema for a CustomResourceDefinition. Rules that such a schema cannot express are left to the
 * operator, which validates each resource as the API does. Defaults become part of the description, so that a resource shows what a person
 * wrote.
 */
export function toStructuralSchema(schema: z.ZodType): Schema {
  const document = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input', unrepresentable: 'any' });
  return convert(document, (document.$defs ?? {}) as Readonly<Record<string, Schema>>);
}

function convert(given: Schema, definitions: Readonly<Record<string, Schema>>): Schema {
  const { schema, isNullable } = resolve(given, definitions);
  const copied = Object.fromEntries(COPIED.flatMap((key) => (key in schema ? [[key, schema[key]]] : [])));
  const description = describe(given['description'] ?? schema['description'], given['default']);
  return {
    ...copied,
    ...typeOf(schema, definitions),
    ...(isNullable && { nullable: true }),
    ...(description !== null && { description }),
  };
}

/** Follows references, and separates null from the other alternatives. */
function resolve(
  given: Schema,
  definitions: Readonly<Record<string, Schema>>,
): { schema: Schema; isNullable: boolean } {
  const reference = given['$ref'];
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1) ?? '';
    return resolve(definitions[name] ?? {}, definitions);
  }
  if (Array.isArray(given['type'])) {
    const types = (given['type'] as readonly string[]).filter((type) => type !== 'null');
    return { schema: { ...given, type: types[0] }, isNullable: types.length < given['type'].length };
  }
  const alternatives = (given['anyOf'] ?? []) as readonly Schema[];
  const [only, ...others] = alternatives.filter(({ type }) => type !== 'null');
  if (only === undefined) return { schema: given, isNullable: false };
  const isNullable = others.length + 1 < alternatives.length;
  if (others.length > 0) return { schema: { type: 'int-or-string' }, isNullable };
  const inner = resolve(only, definitions);
  return { schema: inner.schema, isNullable: isNullable || inner.isNullable };
}

function typeOf(schema: Schema, definitions: Readonly<Record<string, Schema>>): Schema {
  const { type, properties, items, additionalProperties, uniqueItems } = schema;
  if (type === 'int-or-string') return { 'x-kubernetes-int-or-string': true };
  if (type === 'array') {
    return {
      type,
      items: convert(items as Schema, definitions),
      ...(uniqueItems === true && { 'x-kubernetes-list-type': 'set' }),
    };
  }
  if (type !== 'object') return { type: type ?? 'string' };
  if (properties === undefined)
    return { type, additionalProperties: convert((additionalProperties ?? {}) as Schema, definitions) };
  const converted = Object.entries(properties as Readonly<Record<string, Schema>>).map(([name, property]) => [
    name,
    convert(property, definitions),
  ]);
  return { type, properties: Object.fromEntries(converted) as Schema };
}

/** Names the default, unless it is empty. */
function describe(description: unknown, value: unknown): string | null {
  const text = typeof description === 'string' ? description : '';
  const isEmpty =
    value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
  if (isEmpty || /\bDefault:/.test(text)) return text === '' ? null : text;
  return `${text} Default: ${String(value)}.`.trimStart();
}
