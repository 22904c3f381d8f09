import type { ApiKey } from '@tocsin/contracts/api-key';
import { desc, eq } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { users } from '../users/table.ts';
import { apiKeyColumns, toApiKey } from './api-key.ts';
import { apiKeys } from './table.ts';

/** The account's keys, expired ones too, newest first. */
export async function listApiKeys(db: Queryable, accountId: string): Promise<ApiKey[]> {
  const rows = await db
    .select({ ...apiKeyColumns, creator: users.id })
    .from(apiKeys)
    .leftJoin(users, eq(users.id, apiKeys.createdBy))
    .where(eq(apiKeys.accountId, accountId))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id));
  return rows.map((row) => toApiKey(row, row.creator === null));
}
