import { z } from 'zod';
import { channelSetEntrySchema } from '../channels/channel.ts';
import { monitorSetEntrySchema, monitorSetSchema } from './monitor-set.ts';

const { externalId: _externalId, name: _name, url: _url, ...shared } = monitorSetEntrySchema.shape;

export const fileDefaultsSchema = z.strictObject(shared).partial();

/** A `tocsin.yaml` (docs/monitors-as-code.md) before variables are replaced. */
export const monitorFileSchema = z.strictObject({
  source: monitorSetSchema.shape.source.optional(),
  defaults: fileDefaultsSchema
    .optional()
    .describe('Fields for every monitor of this file that does not set them.'),
  monitors: z.array(monitorSetEntrySchema).describe('The desired monitors.'),
  channels: z
    .array(channelSetEntrySchema)
    .optional()
    .describe('The desired channels. Without this field, the channels of the source stay untouched.'),
});

const SECRETS_NOTE = 'Keep secrets out of the file: ${NAME} is an environment variable.';

export function monitorFileJsonSchema(): object {
  const schema = z.toJSONSchema(monitorFileSchema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema, path }) => {
      if (path.at(-2) === 'properties' && path.at(-1) === 'headers') {
        delete jsonSchema.anyOf;
        Object.assign(jsonSchema, { type: ['object', 'null'], additionalProperties: { type: 'string' } });
        // The override may run more than once.
        const text = (jsonSchema.description ?? '').replace(` ${SECRETS_NOTE}`, '');
        jsonSchema.description = `${text} ${SECRETS_NOTE}`;
      }
      // A variable is not a URL.
      if (jsonSchema.format === 'iri') delete jsonSchema.format;
    },
  });
  return {
    ...schema,
    title: 'tocsin.yaml',
    description: 'Monitors of Tocsin as code, for the command `tocsin apply`.',
  };
}
