import { z } from 'zod';

/** An object of the document, as JSON has it. */
export type JsonObject = Readonly<Record<string, unknown>>;

const HOME = '#/components/schemas/';
/** Formats that make zod's pattern redundant. */
const FORMATS_WITH_PATTERN = new Set(['uuid', 'date-time', 'email']);

/** Writes the schemas of the contracts as JSON Schema. A schema with an id is written once, under `components.schemas`. */
export class SchemaBook {
  readonly #named = new Map<string, JsonObject>();

  /** @param io whether to write the input or the output of a transforming schema */
  write(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
    const whole = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy });
    requireMeaning(whole, '');
    const { $schema: _, $defs = {}, ...own } = rehome(whole) as JsonObject & { $defs?: JsonObject };
    for (const [id, definition] of Object.entries($defs)) this.#note(id, definition as JsonObject);
    return own;
  }

  /** Every schema with an id so far, by id. */
  get named(): JsonObject {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #note(id: string, definition: JsonObject): void {
    const known = this.#named.get(id);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(definition)) {
      throw new Error(`two schemas have the id ${id}, or one differs between requests and responses`);
    }
    this.#named.set(id, definition);
  }
}

/** Makes references relative to the document. */
function rehome(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rehome);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) =>
      key === '$ref' && typeof part === 'string'
        ? [key, part.replace('#/$defs/', HOME)]
        : [key, rehome(part)],
    ),
  );
}

type Override = NonNullable<z.core.ToJSONSchemaParams['override']>;

const tidy: Override = ({ zodSchema, jsonSchema }) => {
  if (FORMATS_WITH_PATTERN.has(jsonSchema.format ?? '')) delete jsonSchema.pattern;
  // The bounds of the number type are no information.
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  // zod drops the default of a transformed value.
  const { default: declared } = z.globalRegistry.get(zodSchema) ?? {};
  if (declared !== undefined) jsonSchema.default = declared;
};

const MEANINGFUL = ['type', '$ref', 'anyOf', 'oneOf', 'allOf', 'enum', 'const'];

/** @throws Error if a member of an object or a list may be anything, which is how zod writes what it cannot express */
function requireMeaning(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  const { properties = {}, items } = value as { properties?: object; items?: object };
  const parts = [...Object.entries(properties), ...(items === undefined ? [] : [['[]', items] as const])];
  for (const [name, part] of parts) {
    if (!MEANINGFUL.some((key) => key in (part as object))) {
      throw new Error(
        `the schema of ${path}.${name} cannot be written as JSON Schema: declare it with .meta()`,
      );
    }
  }
  for (const [key, part] of Object.entries(value)) requireMeaning(part, `${path}.${key}`);
}
