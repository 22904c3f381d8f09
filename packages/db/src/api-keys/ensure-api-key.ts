import { hashApiKey } from '@tocsin/core/api-key/api-key';
import { eq, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database/open.ts';
import type { ApiKeyScopes } from './create-api-key.ts';
import { apiKeys, apiKeyTombstones } from './table.ts';

/**
 * Makes sure that a given raw key exists (design §2 `BOOTSTRAP_API_KEY`).
 * @returns `refused` where the key was deleted: deletion is irreversible
 */
export async function ensureApiKey(
  db: Database,
  input: { accountId: string; name: string; key: string; scopes: ApiKeyScopes },
): Promise<'created' | 'exists' | 'refused'> {
  const hash = hashApiKey(input.key);
  return db.transaction(async (tx) => {
    // Against a deletion of this very key at the same moment.
    await tx.execute(sql`lock table ${apiKeyTombstones} in share row exclusive mode`);
    const [tombstone] = await tx.select().from(apiKeyTombstones).where(eq(apiKeyTombstones.hash, hash));
    if (tombstone) return 'refused';
    const created = await tx
      .insert(apiKeys)
      .values({ id: uuidv7(), accountId: input.accountId, name: input.name, hash, scopes: input.scopes })
      .onConflictDoNothing({ target: apiKeys.hash })
      .returning({ id: apiKeys.id });
    return created.length > 0 ? 'created' : 'exists';
  });
}
