import { z } from 'zod';
import { LIMITS } from './limits.ts';
import { label, storableText } from './text.ts';
import { parseTimestamp } from './timestamp.ts';

/** An instant still to come, ISO 8601 with an offset. */
const future = storableText.transform((text, context) => {
  const instant = parseTimestamp(text);
  if (instant !== null && instant.getTime() > Date.now()) return instant;
  const message = instant === null ? 'must be an ISO 8601 timestamp with an offset' : 'must be in the future';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

/** Body of "create an API key"; without `expiresAt` it never expires (specification "Authentication" 2). */
export const createApiKeySchema = z
  .strictObject({ name: label(LIMITS.nameCharacters), expiresAt: future.nullish() })
  .meta({ id: 'ApiKeyCreate' });

const timestamp = z.iso.datetime({ precision: 3 });

/** An API key as people of the account see it: never the key itself. */
export const apiKeySchema = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    /** The comma-separated string of the specification. */
    scopes: z.enum(['read', 'write', 'read,write']),
    /** Null: never expires. */
    expiresAt: timestamp.nullable(),
    /** Null: never used. */
    lastUsedAt: timestamp.nullable(),
    createdAt: timestamp,
  })
  .meta({ id: 'ApiKey' });
export type ApiKey = z.infer<typeof apiKeySchema>;
