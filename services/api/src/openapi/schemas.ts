import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Formats that make zod's pattern redundant. */
const FORMATS_WITH_PATTERN = new Set(['uuid', 'date-time', 'email']);

/**
 * Writes zod schemas as JSON Schema. A schema with an id is written once and referred to as `#/$defs/<id>`. If it differs between requests
 * and responses, it is `#/$defs/<id>Input` in requests.
 */
export class SchemaBook {
  readonly #named: Record<'input' | 'output', Record<string, JsonObject>> = { input: {}, output: {} };

  /** @param io whether to write the input or the output of a transforming schema */
  write(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
    const override = io === 'output' ? tidyOutput : tidy;
    const written = z.toJSONSchema(schema, { io, unrepresentable: 'any', override });
    const { $schema: _, $defs = {}, ...own } = markReferences(written, io);
    for (const [id, definition] of Object.entries($defs as Record<string, JsonObject>)) {
      const known = this.#named[io][id];
      if (known !== undefined && !isDeepStrictEqual(known, definition))
        throw new Error(`two schemas have the id ${id}`);
      this.#named[io][id] = definition;
    }
    return own;
  }

  /** Replaces the references in a document, and returns it with all named schemas under `components.schemas`. */
  resolve(document: JsonObject & { readonly components: JsonObject }): JsonObject {
    const { input, output } = this.#named;
    const nameOf = (io: string, id: string): string =>
      io === 'input' && id in output && !isSame(input[id], output[id]) ? `${id}Input` : id;
    const schemas = Object.fromEntries(
      (['output', 'input'] as const).flatMap((io) =>
        Object.entries(this.#named[io]).map(([id, definition]) => [nameOf(io, id), definition] as const),
      ),
    );
    const sorted = Object.fromEntries(
      Object.entries(schemas).sort(([one], [other]) => (one < other ? -1 : 1)),
    );
    const text = JSON.stringify({ ...document, components: { ...document.components, schemas: sorted } });
    return JSON.parse(
      text.replaceAll(
        /"#(input|output)\/(\w+)/g,
        (_, io: string, id: string) => `"#/components/schemas/${nameOf(io, id)}`,
      ),
    ) as JsonObject;
  }
}

/** Marks whether each reference means the schema of requests or of responses, because names are assigned later. */
function markReferences(schema: object, io: 'input' | 'output'): JsonObject {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"#${io}/`)) as JsonObject;
}

function isSame(one: unknown, other: unknown): boolean {
  const unmarked = [one, other].map((schema) =>
    JSON.stringify(schema).replaceAll(/"#(?:input|output)\//g, '"#/'),
  );
  return unmarked[0] === unmarked[1];
}

type Override = NonNullable<z.core.ToJSONSchemaParams['override']>;

const tidy: Override = ({ zodSchema, jsonSchema }) => {
  if (FORMATS_WITH_PATTERN.has(jsonSchema.format ?? '')) delete jsonSchema.pattern;
  // Not every regex engine reads `\0` as the NUL character.
  jsonSchema.pattern &&= jsonSchema.pattern.replaceAll(String.raw`\0`, String.raw`\x00`);
  // The bounds of the number type are meaningless.
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  // zod drops the default of a transformed value.
  const { default: declared } = z.globalRegistry.get(zodSchema) ?? {};
  if (declared !== undefined) jsonSchema.default = declared;
};

/** Clients must accept fields that later versions add. */
const tidyOutput: Override = (context) => {
  tidy(context);
  if (context.jsonSchema.additionalProperties === false) delete context.jsonSchema.additionalProperties;
};
