import { z } from 'zod';
import { clientKey, component, futureInstant, label, timestamp } from '../fields.ts';
import { LIMITS } from '../limits.ts';

const scopes = z.enum(['read', 'write', 'read,write'], { error: 'must be read, write, or read,write' });

const sources = z
  .array(
    clientKey.refine((source) => !source.slice(0, -1).includes('*'), {
      error: 'must contain * only at its end',
    }),
    { error: 'must be an array of sources' },
  )
  .min(1, { error: 'must contain at least one source; null means all' })
  .max(LIMITS.keySources, { error: `must contain at most ${LIMITS.keySources} sources` })
  .refine((list) => new Set(list).size === list.length, { error: 'must not contain a source twice' })
  .meta({ uniqueItems: true });

export const createApiKeySchema = component('ApiKeyCreate', {
  name: label(LIMITS.nameCharacters).describe('What the key is for.'),
  expiresAt: futureInstant
    .nullish()
    .describe('When it expires, in the future, with an offset. Without it, the key never expires.'),
  scopes: scopes.default('read,write').describe('What it may do, separated by commas.'),
  sources: sources
    .nullable()
    .default(null)
    .describe(
      'The sources whose monitors, channels and maintenance windows it may change; a trailing `*` matches a prefix. Null: all.',
    ),
});

export const apiKeySchema = component('ApiKey', 'An API key without the key itself.', {
  id: z.uuid(),
  name: z.string().describe('What the key is for.'),
  scopes: z.enum(['read', 'write', 'read,write']).describe('What it may do, separated by commas.'),
  sources: z
    .array(z.string())
    .nullable()
    .describe('The sources that it may change; a trailing `*` matches a prefix. Null: all.'),
  expiresAt: timestamp.nullable().describe('Null: it never expires.'),
  lastUsedAt: timestamp.nullable().describe('Null: never used. Updated within about a second.'),
  createdBy: z
    .strictObject({
      id: z.uuid(),
      name: z.string(),
      email: z.string().nullable().describe('Only owners see it; null for members.'),
      removed: z.boolean().describe('Whether the user has been removed.'),
    })
    .nullable()
    .describe(
      'The user who created it, with the name and address at that time. Null if it comes from the settings or from `npm start`.',
    ),
  createdAt: timestamp,
});
export type ApiKey = z.infer<typeof apiKeySchema>;
