import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { clockNow, instant, primaryId } from '../database/sql.ts';
import { accountId } from '../users/table.ts';

/** API keys by the SHA-256 of the raw key, which is not stored. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: primaryId(),
    accountId: accountId(),
    name: text('name').notNull(),
    /** SHA-256 of the raw key, hexadecimal. */
    hash: text('hash').notNull().unique(),
    /** The comma-separated scopes: `read,write` or `read`. */
    scopes: text('scopes').$type<ApiKey['scopes']>().notNull(),
    /** Null: never expires. */
    expiresAt: instant('expires_at'),
    lastUsedAt: instant('last_used_at'),
    /** The user who created the key, as of then, also after the user's removal. Null: from the settings, or older than this column. */
    createdBy: uuid('created_by'),
    createdByName: text('created_by_name'),
    createdByEmail: text('created_by_email'),
    createdAt: instant('created_at').notNull().default(clockNow),
  },
  (table) => [index('api_keys_account_idx').on(table.accountId)],
);

/** Hashes of deleted keys: a setup that still names such a key must not create it again. */
export const apiKeyTombstones = pgTable('api_key_tombstones', {
  hash: text('hash').primaryKey(),
  deletedAt: instant('deleted_at').notNull().default(clockNow),
});
