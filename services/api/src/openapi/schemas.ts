import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Formats that make zod's pattern redundant. */
const FORMATS_WITH_PATTERN = new Set(['uuid', 'date-time', 'email']);

/** Writes zod schemas as JSON Schema. A schema with an id is written once, in `named`, and referred to as `#/$defs/<id>`. */
export class SchemaBook {
  readonly named: Record<string, JsonObject> = {};

  /** @param io whether to write the input or the output of a transforming schema */
  write(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
    const written = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy });
    const { $schema: _, $defs = {}, ...own } = written;
    for (const [id, definition] of Object.entries($defs)) {
      if (id in this.named && !isDeepStrictEqual(this.named[id], definition))
        throw new Error(`two schemas have the id ${id}, or one differs between requests and responses`);
      this.named[id] = definition;
    }
    return own;
  }
}

const tidy: NonNullable<z.core.ToJSONSchemaParams['override']> = ({ zodSchema, jsonSchema }) => {
  if (FORMATS_WITH_PATTERN.has(jsonSchema.format ?? '')) delete jsonSchema.pattern;
  // The bounds of the number type are meaningless.
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  // zod drops the default of a transformed value.
  const { default: declared } = z.globalRegistry.get(zodSchema) ?? {};
  if (declared !== undefined) jsonSchema.default = declared;
};
