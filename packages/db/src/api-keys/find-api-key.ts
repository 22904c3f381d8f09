import { and, eq, gt, isNull, or, sql } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { apiKeys } from './table.ts';

/** Whom a request acts for, and what it may do. */
export interface ApiKeyIdentity {
  readonly id: string;
  readonly accountId: string;
  /** The comma-separated string, as `read,write`. */
  readonly scopes: string;
}

/**
 * The key with this hash, or null where there is none or it has expired (specification "Authentication" 4). Asked
 * of Postgres at every request: no cache may keep a deleted key alive.
 */
export async function findApiKey(db: Queryable, hash: string): Promise<ApiKeyIdentity | null> {
  const [key] = await db
    .select({ id: apiKeys.id, accountId: apiKeys.accountId, scopes: apiKeys.scopes })
    .from(apiKeys)
    .where(and(eq(apiKeys.hash, hash), or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, sql`now()`))));
  return key ?? null;
}
