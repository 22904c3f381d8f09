import type { AuditActor, AuditChange, AuditTarget } from '@tocsin/contracts/audit-log/audit-log';
import { sql } from 'drizzle-orm';
import { index, pgTable } from 'drizzle-orm/pg-core';
import { ownerId, primaryId } from '../database/sql.ts';
import { accountId, accounts } from '../users/table.ts';

/** Changes of configuration, each written in the transaction that makes the change (docs/concepts/audit-log.md). */
export const auditLog = pgTable(
  'audit_log',
  (t) => ({
    id: primaryId(),
    accountId: accountId(),
    /** Strictly increasing within the account, in the order of commits. Has microseconds. */
    timestamp: t.timestamp('timestamp', { withTimezone: true, precision: 6, mode: 'string' }).notNull(),
    actor: t.jsonb('actor').$type<AuditActor>().notNull(),
    requestId: t.text('request_id'),
    action: t.text('action').notNull(),
    target: t.jsonb('target').$type<AuditTarget>().notNull(),
    changes: t.jsonb('changes').$type<readonly AuditChange[]>().notNull(),
  }),
  (table) => [
    index('audit_log_account_idx').on(table.accountId, table.timestamp),
    index('audit_log_target_idx').on(table.accountId, sql`(${table.target} ->> 'id')`, table.timestamp),
    // Finds expired entries. A BRIN index is small, because the rows are roughly in the order of their timestamps.
    index('audit_log_timestamp_idx').using('brin', table.timestamp),
  ],
);

/** Timestamp of each account's last entry. Its row lock orders the transactions that write entries. */
export const auditClocks = pgTable('audit_clocks', (t) => ({
  accountId: ownerId('account_id', () => accounts.id).primaryKey(),
  lastTimestamp: t
    .timestamp('last_timestamp', { withTimezone: true, precision: 6, mode: 'string' })
    .notNull(),
}));
