import type { ApiKey } from '@tocsin/contracts/api-key';
import { generateApiKey, hashApiKey } from '@tocsin/core/api-key/api-key';
import { v7 as uuidv7 } from 'uuid';
import type { Queryable } from '../database/open.ts';
import { apiKeyColumns, toApiKey } from './api-key.ts';
import { apiKeys } from './table.ts';

/** The scopes string of the specification: every key made in the dashboard has both. */
export type ApiKeyScopes = 'read,write' | 'read';

export interface NewApiKey {
  readonly accountId: string;
  readonly name: string;
  readonly scopes?: ApiKeyScopes;
  /** Null or absent: never expires. */
  readonly expiresAt?: Date | null;
}

/** Creates a key; `key` is the raw key, which cannot be had again. */
export async function createApiKey(
  db: Queryable,
  input: NewApiKey,
): Promise<{ apiKey: ApiKey; key: string }> {
  const key = generateApiKey();
  const [row] = await db
    .insert(apiKeys)
    .values({
      id: uuidv7(),
      accountId: input.accountId,
      name: input.name,
      hash: hashApiKey(key),
      scopes: input.scopes ?? 'read,write',
      expiresAt: input.expiresAt ?? null,
    })
    .returning(apiKeyColumns);
  if (!row) throw new Error('no row came back');
  return { apiKey: toApiKey(row), key };
}
