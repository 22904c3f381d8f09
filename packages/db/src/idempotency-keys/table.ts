import { index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/sql.ts';
import { accounts } from '../users/table.ts';

/**
 * Requests that were answered with success and may be asked again, by the `Idempotency-Key` of their sender. Written in the
 * transaction of what they made.
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    key: text('key').notNull(),
    /** What was asked for, as a keyed fingerprint (`SecretBox`): it may hold secrets. */
    requestHash: text('request_hash').notNull(),
    /** What the answer holds beside what was asked for: so no secret stands here. */
    answer: jsonb('answer').$type<Readonly<Record<string, unknown>>>().notNull(),
    createdAt: instant('created_at').notNull().default(clockNow),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.key] }),
    index('idempotency_keys_created_idx').on(table.createdAt),
  ],
);
