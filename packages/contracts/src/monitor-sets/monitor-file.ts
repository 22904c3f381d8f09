import { z } from 'zod';
import { monitorSetEntrySchema, monitorSetSchema } from './monitor-set.ts';

const { externalId: _externalId, name: _name, url: _url, ...shared } = monitorSetEntrySchema.shape;

/** What a monitor may leave out, as every monitor of the file has it that does not say otherwise. */
export const fileDefaultsSchema = z.strictObject(shared).partial();

/** A `tocsin.yaml` (docs/monitors-as-code.md), before anything is put in the place of variables. */
export const monitorFileSchema = z.strictObject({
  source: monitorSetSchema.shape.source.optional(),
  defaults: fileDefaultsSchema
    .optional()
    .describe('Fields of every monitor of this file that does not name them itself.'),
  monitors: z.array(monitorSetEntrySchema).describe('The monitors that there shall be.'),
});

const SECRETS_NOTE = 'Keep secrets out of the file: ${NAME} is a variable of the environment.';

/** The JSON Schema of a `tocsin.yaml`, for editors. */
export function monitorFileJsonSchema(): object {
  const schema = z.toJSONSchema(monitorFileSchema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema, path }) => {
      if (path.at(-2) === 'properties' && path.at(-1) === 'headers') {
        delete jsonSchema.anyOf;
        Object.assign(jsonSchema, { type: ['object', 'null'], additionalProperties: { type: 'string' } });
        // It is asked for more than once.
        const said = (jsonSchema.description ?? '').replace(` ${SECRETS_NOTE}`, '');
        jsonSchema.description = `${said} ${SECRETS_NOTE}`;
      }
      // A variable is none yet.
      if (jsonSchema.format === 'uri') delete jsonSchema.format;
    },
  });
  return {
    ...schema,
    title: 'tocsin.yaml',
    description: 'Monitors of Tocsin as code, for the command `tocsin apply`.',
  };
}
