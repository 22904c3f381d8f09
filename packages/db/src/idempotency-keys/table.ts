import { index, pgTable, primaryKey } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/sql.ts';
import { accountId } from '../users/table.ts';

/** Successful requests that may be repeated, by `Idempotency-Key`. A row commits with the records that its request created. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  (t) => ({
    accountId: accountId(),
    key: t.text('key').notNull(),
    /** The request as a keyed fingerprint (`SecretBox`), since it may contain secrets. */
    requestHash: t.text('request_hash').notNull(),
    /** What the response contains besides the request, so no secrets. */
    result: t.jsonb('answer').$type<object>().notNull(),
    createdAt: instant('created_at').notNull().default(clockNow),
  }),
  (table) => [
    primaryKey({ columns: [table.accountId, table.key] }),
    index('idempotency_keys_created_idx').on(table.createdAt),
  ],
);
