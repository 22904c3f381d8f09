import { z } from 'zod';
import { component, instant, label, timestamp } from '../fields.ts';
import { LIMITS } from '../limits.ts';

const future = instant().refine((date) => date.getTime() > Date.now(), { error: 'must be in the future' });

export const createApiKeySchema = component('ApiKeyCreate', {
  name: label(LIMITS.nameCharacters).describe('What the key is for.'),
  expiresAt: future
    .nullish()
    .describe('When it expires, in the future, with an offset. Without it, the key never expires.'),
});

export const apiKeySchema = component('ApiKey', 'An API key without the key itself.', {
  id: z.uuid(),
  name: z.string().describe('What the key is for.'),
  scopes: z.enum(['read', 'write', 'read,write']).describe('What it may do, separated by commas.'),
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
      'The user who created it, with the name and address at that time. Null if it comes from the settings or from `npm start`, or is older than this field.',
    ),
  createdAt: timestamp,
});
export type ApiKey = z.infer<typeof apiKeySchema>;
