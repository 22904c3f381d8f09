import { z } from 'zod';

type Schema = z.core.JSONSchema.BaseSchema & Record<string, unknown>;

/** Keywords with the same meaning in the schema of a CustomResourceDefinition. */
const KEPT = new Set(
  `type description nullable enum minimum maximum minLength maxLength minItems maxItems maxProperties required items properties
  additionalProperties x-kubernetes-list-type x-kubernetes-list-map-keys x-kubernetes-int-or-string x-kubernetes-preserve-unknown-fields`.split(
    /\s+/,
  ),
);

/**
 * Converts a schema to a structural OpenAPI schema for a CustomResourceDefinition. Rules that such a schema cannot express are left to the
 * operator, which validates each resource as the API does. Defaults become part of the description, so that a resource shows what a person
 * wrote.
 */
export function toStructuralSchema(schema: z.ZodType): Schema {
  const options = { target: 'openapi-3.0', io: 'input', unrepresentable: 'any' } as const;
  const { definitions = {}, ...root } = z.toJSONSchema(schema, options) as Schema;
  return convert(root, definitions as Readonly<Record<string, Schema>>);
}

function convert(given: Schema, definitions: Readonly<Record<string, Schema>>): Schema {
  const { default: value, ...schema } = inline(given, definitions);
  const { anyOf, properties, items, additionalProperties, uniqueItems, ...rest } = schema;
  const types = new Set(anyOf?.map(({ type }) => type));
  const convertEach = (each: unknown): Schema => convert(each as Schema, definitions);
  const converted: Schema = {
    ...describe(rest, value),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, convertEach(each)]),
      ),
    }),
    ...(items !== undefined && { items: convertEach(items) }),
    ...(typeof additionalProperties === 'object' && {
      additionalProperties: convertEach(additionalProperties),
    }),
    ...(uniqueItems === true && { 'x-kubernetes-list-type': 'set' }),
    // Other unions and values of any type cannot be expressed.
    ...(types.has('integer') && types.has('string') && { 'x-kubernetes-int-or-string': true }),
  };
  if (converted.type === undefined && converted['x-kubernetes-int-or-string'] === undefined)
    converted['x-kubernetes-preserve-unknown-fields'] = true;
  return Object.fromEntries(Object.entries(converted).filter(([key]) => KEPT.has(key)));
}

/** Replaces a reference by what it refers to, and a union with one alternative by the alternative. */
function inline(given: Schema, definitions: Readonly<Record<string, Schema>>): Schema {
  const { $ref, allOf, anyOf, ...own } = given;
  const name = $ref?.split('/').at(-1);
  const [only, ...others] = (allOf ?? anyOf ?? []) as readonly Schema[];
  const inner = name === undefined ? (others.length === 0 ? only : undefined) : definitions[name];
  return inner === undefined ? given : { ...inline(inner, definitions), ...own };
}

/** Names the default in the description, unless it is empty. */
function describe(schema: Schema, value: unknown): Schema {
  const { description = '' } = schema;
  const isEmpty =
    value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
  if (isEmpty || /\bDefault:/.test(description)) return schema;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { ...schema, description: `${description} Default: ${text}.`.trimStart() };
}
