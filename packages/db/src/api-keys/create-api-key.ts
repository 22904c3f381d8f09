import type { ApiKey } from '@tocsin/contracts/api-key';
import { generateApiKey, hashApiKey } from '@tocsin/core/api-key/api-key';
import { AppError } from '@tocsin/contracts/errors';
import { and, eq } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Queryable, Transaction } from '../database/open.ts';
import { users } from '../users/table.ts';
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
  /** The id of the user who creates it; null or absent: none. */
  readonly createdBy?: string | null;
}

/**
 * Creates a key; `key` is the raw key, which cannot be had again.
 * @throws AppError not_signed_in where the user has just been removed
 */
export async function createApiKey(
  db: Queryable,
  input: NewApiKey,
): Promise<{ apiKey: ApiKey; key: string }> {
  const key = generateApiKey();
  const row = await db.transaction(async (tx) => {
    const creator = await lockCreator(tx, input);
    const [created] = await tx
      .insert(apiKeys)
      .values({
        id: uuidv7(),
        accountId: input.accountId,
        name: input.name,
        hash: hashApiKey(key),
        scopes: input.scopes ?? 'read,write',
        expiresAt: input.expiresAt ?? null,
        ...creator,
      })
      .returning(apiKeyColumns);
    return created;
  });
  if (!row) throw new Error('no row came back');
  return { apiKey: toApiKey(row, false), key };
}

/** Until the transaction ends nobody removes the user: that removal takes this key along. */
async function lockCreator(
  tx: Transaction,
  { accountId, createdBy }: NewApiKey,
): Promise<{ createdBy?: string; createdByName?: string; createdByEmail?: string }> {
  if (createdBy === undefined || createdBy === null) return {};
  const [user] = await tx
    .select({ createdBy: users.id, createdByName: users.name, createdByEmail: users.email })
    .from(users)
    .where(and(eq(users.id, createdBy), eq(users.accountId, accountId)))
    .for('key share');
  if (!user) throw new AppError('not_signed_in', 'Sign in: the user was removed.');
  return user;
}
