import type { ErrorReason } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { index, pgTable, uniqueIndex } from 'drizzle-orm/pg-core';
import { instant, primaryId } from '../database/sql.ts';
import { accountId } from '../users/table.ts';

/**
 * Opened when a monitor goes DOWN, resolved when it recovers. Without a foreign key: deleting a flapping monitor must not delete its many
 * incidents in one transaction. Readers join monitors, so incidents of deleted monitors are never shown.
 */
export const incidents = pgTable(
  'incidents',
  (t) => ({
    id: primaryId(),
    accountId: accountId(),
    monitorId: t.uuid('monitor_id').notNull(),
    openedAt: instant('opened_at').notNull(),
    /** Null while the incident is open. */
    resolvedAt: instant('resolved_at'),
    cause: t.text('cause').$type<ErrorReason>(),
    errorDetail: t.text('error_detail'),
    region: t.text('region').notNull(),
  }),
  (table) => [
    uniqueIndex('incidents_one_open_key')
      .on(table.monitorId)
      .where(sql`${table.resolvedAt} is null`),
    index('incidents_resolved_idx')
      .on(table.resolvedAt)
      .where(sql`${table.resolvedAt} is not null`),
    index('incidents_account_idx').on(table.accountId, table.openedAt.desc()),
    index('incidents_monitor_idx').on(table.monitorId, table.openedAt.desc()),
  ],
);
