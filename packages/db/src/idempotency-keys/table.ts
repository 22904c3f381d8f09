import { index, pgTable, primaryKey } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/sql.ts';
import { accountId } from '../users/table.ts';

/** Results of successful requests by `Idempotency-Key`. A row commits with the records that its request created. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  (t) => ({
    accountId: accountId(),
    key: t.text('key').notNull(),
    /** Keyed fingerprint of the request (`SecretBox`), because it may contain secrets. */
    requestHash: t.text('request_hash').notNull(),
    /** The resource that the request created. Deleting it deletes the row. Null in rows of older servers. */
    resourceId: t.uuid('resource_id'),
    /** Has the response fields that the request lacks, without secrets. */
    result: t.jsonb('answer').$type<object>().notNull(),
    createdAt: instant('created_at').notNull().default(clockNow),
  }),
  (table) => [
    primaryKey({ columns: [table.accountId, table.key] }),
    index('idempotency_keys_created_idx').on(table.createdAt),
    index('idempotency_keys_resource_idx').on(table.resourceId),
  ],
);
