import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { index, pgTable } from 'drizzle-orm/pg-core';
import { clockNow, instant, primaryId } from '../database/sql.ts';
import { accountId } from '../users/table.ts';

export const apiKeys = pgTable(
  'api_keys',
  (t) => ({
    id: primaryId(),
    accountId: accountId(),
    name: t.text('name').notNull(),
    /** SHA-256 of the raw key, hexadecimal. */
    hash: t.text('hash').notNull().unique(),
    /** Comma-separated scopes: `read,write` or `read`. */
    scopes: t.text('scopes').$type<ApiKey['scopes']>().notNull(),
    /** Sources whose monitors and channels the key may change. `*` at the end is a wildcard. Null for all. */
    sources: t.text('sources').array(),
    expiresAt: instant('expires_at'),
    lastUsedAt: instant('last_used_at'),
    /** Creator, kept after the user is removed. Null if the key comes from the settings. */
    createdBy: t.uuid('created_by'),
    createdByName: t.text('created_by_name'),
    createdByEmail: t.text('created_by_email'),
    createdAt: instant('created_at').notNull().default(clockNow),
  }),
  (table) => [index('api_keys_account_idx').on(table.accountId)],
);

/** Hashes of deleted keys. A setting that still names such a key must not create it again. */
export const apiKeyTombstones = pgTable('api_key_tombstones', (t) => ({
  hash: t.text('hash').primaryKey(),
  deletedAt: instant('deleted_at').notNull().default(clockNow),
}));
