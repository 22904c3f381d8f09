import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/sql.ts';
import { accounts } from '../users/table.ts';

/** API keys by the SHA-256 of the raw key, which is stored nowhere (specification "API key"). */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: uuid('id').primaryKey(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    /** SHA-256 of the raw key, hexadecimal. */
    hash: text('hash').notNull().unique(),
    /** The comma-separated string of the specification: `read,write` or `read`. */
    scopes: text('scopes').$type<ApiKey['scopes']>().notNull(),
    /** Null: never expires. */
    expiresAt: instant('expires_at'),
    lastUsedAt: instant('last_used_at'),
    /**
     * The user who created the key, with the name and address at that time: they stay readable when the user is removed. Null: the key
     * comes from the settings, or is older than this column.
     */
    createdBy: uuid('created_by'),
    createdByName: text('created_by_name'),
    createdByEmail: text('created_by_email'),
    createdAt: instant('created_at').notNull().default(clockNow),
  },
  (table) => [index('api_keys_account_idx').on(table.accountId)],
);

/** Hashes of deleted keys: a set-up that still names such a key must not bring it back (design §2). */
export const apiKeyTombstones = pgTable('api_key_tombstones', {
  hash: text('hash').primaryKey(),
  deletedAt: instant('deleted_at').notNull().default(clockNow),
});
